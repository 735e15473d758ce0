package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"credence/internal/votelog"
	"credence/monitor"
)

// TestHealthState: a damaged state file, or one that does not belong to the vote file, is refused with its name and what to do.
func TestHealthState(t *testing.T) {
	dir := t.TempDir()
	votes, err := votelog.Open(filepath.Join(dir, "votes.csv"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer votes.Close()
	for text, want := range map[string]string{
		"":                      "expected the state of credence serve, found unexpected end of JSON input",
		"{":                     "expected the state of credence serve, found unexpected end",
		`{"models":{}}{}`:       "expected the state of credence serve, found invalid character",
		"{}":                    `found none of its "models"`,
		`{"models":{"x":null}}`: `model "x": expected ranges of lines, found null`,
		`{"models":{"x":{"lines":[[5,2],[3,-1]]}}}`:                                       "expected increasing ranges",
		`{"current":"x","models":{"x":{"lines":[[0,-1],[0,-1]]}}}`:                        "expected increasing ranges",
		`{"current":"y","models":{"x":{"lines":[[0,-1]]}}}`:                               "only the last of the current model is open",
		`{"models":{"x":{"lines":[[-2,0]]}}}`:                                             "expected increasing ranges",
		`{"current":"x","models":{"x":{"lines":[[7,-1]]}}}`:                               "expected a vote file with at least 7 votes, found 0",
		`{"models":{"x":{"lines":[[0,0]],"alarms":[{"kind":"fire"}]}}}`:                   `alarm 1: expected one of the kinds ["votes" "rater" "inputs"], found "fire"`,
		`{"models":{"x":{"lines":[[0,0]],"alarms":[{"kind":"votes"},{"kind":"votes"}]}}}`: `alarm 2: expected one alarm of kind "votes", found two`,
	} {
		h := &health{server: &Server{votes: votes}, path: filepath.Join(dir, "votes.csv.monitor.json")}
		if err := os.WriteFile(h.path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := h.load(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "votes.csv.monitor.json") || !strings.HasSuffix(err.Error(), "to start anew") {
			t.Errorf("%s: expected an error that names the file and %q, found %v", text, want, err)
		}
	}
}

// TestHealthStateSaved: a state that could not be written is written later, though nothing changed since.
func TestHealthStateSaved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "missing")
	h := &health{path: filepath.Join(dir, "votes.csv.monitor.json"), state: healthState{Models: map[string]*modelState{}}}
	h.unsaved = h.state.use("a", 3)
	if err := h.save(); err == nil {
		t.Fatal("expected an error: the folder does not exist")
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := h.save(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(h.path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if s, err := readHealthState(f, 3); err != nil || !reflect.DeepEqual(s, h.state) || h.unsaved {
		t.Errorf("expected %+v, found %+v, %v", h.state, s, err)
	}
}

// FuzzHealthState: what is read as a state is used as one, and read again as the same: models that follow each other leave a
// valid file.
func FuzzHealthState(f *testing.F) {
	for _, text := range []string{"", "{}", "null", `{"models":{}}`, `{"current":"a","models":{"a":{"lines":[[0,5],[7,-1]],"alarms":[{"kind":"votes","votes":3,"evidence":21,"text":"x","sent":true}]}}}`,
		`{"current":"a","models":{"a":{"lines":[]},"b":{"lines":[[2,2],[2,9]]}}}`, `{"current":"b","models":{"a":{"lines":[[0,-1]]}}}`, `{"models":{"a":{"lines":[[1]]}}}`} {
		f.Add(text, uint16(10))
	}
	f.Fuzz(func(t *testing.T, text string, lines uint16) {
		n := int(lines)
		s, err := readHealthState(strings.NewReader(text), n)
		if err != nil {
			return
		}
		for _, m := range s.Models {
			for _, r := range m.Lines {
				if r[0] < 0 || r[0] > n || r[1] > n || r[1] < r[0] && r[1] != -1 {
					t.Fatalf("range %v of %d lines", r, n)
				}
			}
		}
		for i, hash := range []string{"a", "b", s.Current, "a"} {
			s.use(hash, n+i)
			if s.Current != hash || s.use(hash, n+i) {
				t.Fatalf("expected %q in use once, found %+v", hash, s)
			}
			written, err := json.Marshal(&s)
			if err != nil {
				t.Fatal(err)
			}
			back, err := readHealthState(strings.NewReader(string(written)), n+i)
			if err != nil {
				t.Fatalf("%s: %v", written, err)
			}
			again, err := json.Marshal(&back)
			if err != nil || string(again) != string(written) {
				t.Fatalf("expected %s, found %s, %v", written, again, err)
			}
		}
	})
}

// TestHealthStateUnwritable raises an alarm while the state file cannot be written: votes are counted nevertheless, and the alarm is
// saved when it can be.
func TestHealthStateUnwritable(t *testing.T) {
	t.Parallel() // it waits for the clock of the server
	s, base, _ := desk(t, Options{})
	healthOf(t, s, base)
	path := s.health.path
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(path, "in the way"), 0o777); err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		want[voteSavedBody](t, "POST", base+"/api/v1/votes", apiVote{Item: fmt.Sprintf("i%d", i), Rater: "r", Label: "yes"})
	}
	counted, failed := 0, false
	for range 1000 {
		s.health.mu.Lock()
		counted, failed = s.health.seen, s.health.failed != nil
		s.health.mu.Unlock()
		if counted == 40 && failed {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if counted != 40 || !failed {
		t.Errorf("without a state file: expected 40 counted votes and an error, found %d, %v", counted, failed)
	}
	if status, _, text := ask(t, "GET", base+"/api/v1/health", "", ""); status != http.StatusConflict {
		t.Errorf("without a state file: expected status 409, found %d: %s", status, text)
	}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		s.health.mu.Lock()
		saved := s.health.failed == nil && !s.health.unsaved
		s.health.mu.Unlock()
		if saved {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	r := healthOf(t, s, base)
	if r.Votes != 39 || len(r.Alarms) == 0 { // item i7 has no prediction
		t.Fatalf("expected 39 votes and an alarm, found %d and %v", r.Votes, r.Alarms)
	}
	again, url := restart(t, s)
	if after := healthOf(t, again, url); after.Votes != r.Votes || after.Evidence != r.Evidence || len(after.Alarms) != len(r.Alarms) {
		t.Errorf("after a restart: expected %v and %v, found %v and %v", r.Evidence, r.Alarms, after.Evidence, after.Alarms)
	}
}

// replaceModel replaces the served model and waits until it is monitored.
func replaceModel(t *testing.T, s *Server, base string, which int) {
	t.Helper()
	old := s.queue.items
	save(t, fitted()[which], s.options.Path)
	path := filepath.Join(s.options.Path, "model.credence")
	if err := os.Chtimes(path, time.Now(), time.Now().Add(time.Duration(1+len(s.votes.Votes(0)))*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		p, release, err := s.queue.get()
		if err == nil {
			if release(); p != old {
				s.health.voted() // rather than at its next tick
				healthOf(t, s, base)
				return
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the items were not predicted by the new model")
}

// TestHealthReplaced replaces a model and puts it back, A, B, A: the evidence about A is exactly that of a server that had only
// the votes cast while A was in use, B has its own, and a restart changes neither.
func TestHealthReplaced(t *testing.T) {
	t.Parallel() // it waits for the clock of the server
	s, base, _ := desk(t, Options{Reload: time.Hour})
	vote := func(base string, from, to int) {
		for i := from; i < to; i++ {
			want[voteSavedBody](t, "POST", base+"/api/v1/votes", apiVote{Item: fmt.Sprintf("i%d", 8+i%30), Rater: fmt.Sprintf("r%d", i/30), Label: []string{"no", "yes"}[i*i%7%2]})
		}
	}
	vote(base, 0, 20)
	first := healthOf(t, s, base)
	replaceModel(t, s, base, 1)
	started := healthOf(t, s, base)
	if started.SHA256 == first.SHA256 || started.Votes != 0 {
		t.Fatalf("a new model: expected no votes, found %d", started.Votes)
	}
	vote(base, 20, 50)
	other := healthOf(t, s, base)
	if other.Votes != 10 || other.LeftOut.TrainedVotes != 20 {
		t.Fatalf("the new model: expected 10 votes, and 20 left out on items with earlier votes, found %d and %q", other.Votes, other.LeftOut)
	}
	replaceModel(t, s, base, 0)
	same := func(what string, want, got healthBody) {
		t.Helper()
		if got.SHA256 != want.SHA256 || got.Votes != want.Votes || !reflect.DeepEqual(got.Report, want.Report) {
			t.Errorf("%s: expected %d votes and evidence %v, found %d and %v", what, want.Votes, want.Evidence, got.Votes, got.Evidence)
		}
	}
	same("put back", first, healthOf(t, s, base))
	vote(base, 50, 110)
	last := healthOf(t, s, base)

	only, onlyBase, _ := desk(t, Options{})
	vote(onlyBase, 0, 20)
	vote(onlyBase, 50, 110)
	same("the votes of A alone", healthOf(t, only, onlyBase), last)

	again, url := restart(t, s)
	same("after a restart", last, healthOf(t, again, url))
	replaceModel(t, again, url, 1)
	same("B again", other, healthOf(t, again, url))
}

// TestHealthSkips: skipped items are no votes, do not withdraw a vote, and do not leave an item out.
func TestHealthSkips(t *testing.T) {
	t.Parallel() // it waits for the clock of the server
	s, base, _ := desk(t, Options{})
	plain, plainBase, _ := desk(t, Options{})
	skip := func(item, rater string) {
		if status := call(t, "POST", base+"/api/v1/queue/skip", map[string]string{"item": item, "rater": rater}, nil); status != 204 {
			t.Fatalf("status %d", status)
		}
	}
	for i := 10; i < 30; i++ {
		item := fmt.Sprintf("i%d", i)
		skip(item, "ann")
		for _, b := range []string{base, plainBase} {
			want[voteSavedBody](t, "POST", b+"/api/v1/votes", apiVote{Item: item, Rater: "bob", Label: "yes"})
		}
		skip(item, "cem")
		// A skip that another request overtook, after the vote.
		if _, err := s.votes.Add(votelog.Vote{Item: item, Rater: "bob", Key: skipKey + item, Time: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	got, expected := healthOf(t, s, base), healthOf(t, plain, plainBase)
	if got.Votes != 20 || !reflect.DeepEqual(got.Report, expected.Report) || got.LeftOut != (monitor.LeftOut{}) {
		t.Errorf("expected 20 votes and evidence %v, found %d and %v, left out %q", expected.Evidence, got.Votes, got.Evidence, got.LeftOut)
	}
	// Under a later model, items with votes are left out, and those that were only skipped are not.
	skip("i31", "ann")
	replaceModel(t, s, base, 1)
	for _, item := range []string{"i10", "i31"} {
		want[voteSavedBody](t, "POST", base+"/api/v1/votes", apiVote{Item: item, Rater: "dan", Label: "no"})
	}
	skip("i11", "dan")
	if r := healthOf(t, s, base); r.Votes != 1 || r.LeftOut != (monitor.LeftOut{TrainedItems: 1, TrainedVotes: 1}) {
		t.Errorf("a later model: expected one vote and one left out, found %d, and left out %q", r.Votes, r.LeftOut)
	}
}
