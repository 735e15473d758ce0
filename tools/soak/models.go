//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// probes is the number of items whose predictions are compared with those of credence predict.
const probes = 5

// models are the versions of the served model, and their predictions.
type models struct {
	busy   sync.Mutex // held while versions change
	newest int
	oldest int
	// trainings counts trainings. A run names the files that it was trained on, which a monitor reads again, so that each training
	// has copies of the votes of its own: copies are the paths of those of each version.
	trainings int
	copies    map[int][]string

	mu sync.Mutex
	// expected are the predictions of the probe items by credence predict, by version; seen those of the servers, which may have a
	// version before its expected predictions are known.
	expected, seen map[string]map[string]bool
}

func (m *models) init() {
	m.oldest, m.copies, m.expected, m.seen = 1, map[int][]string{}, map[string]map[string]bool{}, map[string]map[string]bool{}
}

func add(to map[string]map[string]bool, version, text string) {
	if to[version] == nil {
		to[version] = map[string]bool{}
	}
	to[version][text] = true
}

// check compares what servers returned with what was expected, for all versions that are known.
func (m *models) check(s *soak) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for version, texts := range m.seen {
		for text := range texts {
			if m.expected[version] != nil && !m.expected[version][text] {
				s.failf("version %s: predictions of the server are not those of credence predict: %.300s", version, text)
			}
		}
	}
}

// predict asks for the predictions of the probe items.
func (s *soak) predict(v *server, _ *rand.Rand) {
	rows := []map[string]any{}
	for _, i := range s.items.train[:probes] {
		rows = append(rows, map[string]any{"item": i.id, "x1": round(i.x1), "x2": round(i.x2), "site": i.site})
	}
	body, _ := json.Marshal(map[string]any{"items": rows})
	status, answer := s.request(v, "POST", "/api/v1/models/soak/predict", "application/json", string(body), http.StatusOK)
	if status != http.StatusOK {
		return
	}
	var found struct {
		Version     string
		Predictions []map[string]any
	}
	if err := json.Unmarshal(answer, &found); err != nil || len(found.Predictions) != probes {
		s.failf("%s: predictions are not as expected: %v: %.300s", v.name, err, answer)
		return
	}
	text, _ := json.Marshal(found.Predictions)
	s.models.mu.Lock()
	defer s.models.mu.Unlock()
	add(s.models.seen, found.Version, string(text))
	s.counts.compared.Add(1)
}

// round returns a number as the files have it.
func round(x float64) float64 {
	y, _ := strconv.ParseFloat(fmt.Sprintf("%.6f", x), 64)
	return y
}

// runs returns the folder of a version.
func (s *soak) runs(version int) string {
	return filepath.Join(s.disk, "runs", "soak", strconv.Itoa(version))
}

// expect computes the predictions of a run with credence predict, for the version that it is or becomes.
func (s *soak) expect(run string, version int) error {
	c := exec.Command(s.program, "predict", run, filepath.Join(s.dir, "probe.csv"), "--wide", "--format", "jsonl")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return fmt.Errorf("%w: %s", err, &stderr)
	}
	var list []map[string]any
	for line := range strings.Lines(string(out)) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			return err
		}
		list = append(list, row)
	}
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	s.models.mu.Lock()
	defer s.models.mu.Unlock()
	add(s.models.expected, strconv.Itoa(version), string(text))
	return nil
}

// retrain trains on the votes so far: a new version, one that continues the newest, one whose training is killed and
// resumed, or another model in the place of the newest.
func (s *soak) retrain(random *rand.Rand, kind string) {
	if !s.models.busy.TryLock() {
		return
	}
	defer s.models.busy.Unlock()
	version := s.models.newest + 1
	out := s.runs(version)
	args := []string{"train", "--data", filepath.Join(s.dir, "train.csv"), "--votes", filepath.Join(s.dir, "votes.csv"), "--seed", strconv.Itoa(random.IntN(1000) + 1)}
	snapshots, err := s.snapshots()
	if err != nil {
		s.failf("%v", err)
		return
	}
	for _, path := range snapshots {
		args = append(args, "--votes", path)
	}
	switch kind {
	case "continued":
		args = append(args, "--from", s.runs(s.models.newest))
	case "in place":
		version, out = s.models.newest, filepath.Join(s.disk, "next")
	}
	args = append(args, "--out", out)
	if kind == "killed" {
		s.trainAndKill(args, time.Duration(50+random.IntN(1500))*time.Millisecond)
		if _, err := os.Stat(filepath.Join(out, "config.yaml")); err == nil {
			args = append(args, "--resume")
		} else {
			args = append(args, "--overwrite")
		}
	}
	if err := s.train(args); err != nil {
		s.failf("training (%s): %v", kind, err)
		_ = os.RemoveAll(out)
		return
	}
	if err := s.expect(out, version); err != nil {
		s.failf("predicting with version %d: %v", version, err)
	}
	if kind == "in place" {
		s.replace(out, s.runs(version))
	}
	s.models.newest = version
	s.models.copies[version] = append(s.models.copies[version], snapshots...)
	s.counts.retrainings.Add(1)
	if kind == "killed" {
		s.counts.trainingKills.Add(1)
	}
	if s.servers[0] != nil {
		s.models.check(s)
	}
	for s.models.newest-s.models.oldest >= 3 {
		if err := os.RemoveAll(s.runs(s.models.oldest)); err != nil {
			s.failf("%v", err)
		}
		for _, path := range s.models.copies[s.models.oldest] {
			_ = os.Remove(path)
		}
		delete(s.models.copies, s.models.oldest)
		s.models.oldest++
	}
}

// snapshots copies the vote files, without a line that is being written: a run resumes only if its data have not changed.
func (s *soak) snapshots() (paths []string, err error) {
	s.models.trainings++
	for i, v := range s.servers {
		if v == nil {
			continue
		}
		text, err := os.ReadFile(v.log)
		if err != nil {
			return nil, err
		}
		if bytes.Count(text, []byte("\n")) < 2 {
			continue // no votes yet
		}
		path := filepath.Join(s.dir, fmt.Sprintf("snapshot-%d-%d.csv", s.models.trainings, i))
		if err := os.WriteFile(path, text[:bytes.LastIndexByte(text, '\n')+1], 0o644); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// train trains; where the disk is full it must fail for that reason, and succeeds by resuming when there is space again.
func (s *soak) train(args []string) error {
	for range 20 {
		full := s.full.load()
		text, err := exec.Command(s.program, args...).CombinedOutput()
		if err == nil {
			return nil
		}
		if !s.full.since(full) || !bytes.Contains(text, []byte("no space left on device")) {
			return fmt.Errorf("%w: %s", err, text[max(0, len(text)-2000):])
		}
		s.counts.trainingsWithoutSpace.Add(1)
		for s.full.on() {
			time.Sleep(100 * time.Millisecond)
		}
		out := args[len(args)-1]
		for i, a := range args {
			if a == "--out" {
				out, args = args[i+1], args[:i+2]
			}
		}
		if _, err := os.Stat(filepath.Join(out, "config.yaml")); err == nil {
			args = append(args, "--resume")
		} else {
			args = append(args, "--overwrite")
		}
	}
	return errors.New("the disk was full in 20 attempts")
}

func (s *soak) trainAndKill(args []string, after time.Duration) {
	c := exec.Command(s.program, args...)
	if err := c.Start(); err != nil {
		s.failf("%v", err)
		return
	}
	time.Sleep(after)
	_ = c.Process.Kill()
	_ = c.Wait()
}

// replace moves the files of a run over those of another, one by one, the model last.
func (s *soak) replace(from, to string) {
	files, err := os.ReadDir(from)
	if err != nil {
		s.failf("%v", err)
		return
	}
	const last = "model.credence"
	for _, f := range files {
		if f.Name() != last {
			err = errors.Join(err, os.Rename(filepath.Join(from, f.Name()), filepath.Join(to, f.Name())))
		}
	}
	err = errors.Join(err, os.Rename(filepath.Join(from, last), filepath.Join(to, last)), os.RemoveAll(from))
	if err != nil {
		s.failf("replacing a model: %v", err)
	}
}
