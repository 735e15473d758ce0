//go:build attack && linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"credence/dataset"
	"credence/internal/rng"
	"credence/internal/yamltext"
	"credence/model"
	"credence/nn"
)

// The attacks give damaged and hostile files to the readers, in child processes of this
// test binary, and check how much memory and time they need:
//
//	go test -tags attack -run '^TestAttack' ./...
//
// CREDENCE_ATTACK_MUTANTS is the number of mutants of each format, 200 if it is not set.
// Mutants are drawn anew in every run; the seed is printed, and CREDENCE_ATTACK_SEED sets it.

const (
	attackMemory = 64 << 20 // limit of a reader
	attackPeak   = 3*attackMemory + 200<<20
	attackTime   = 20 * time.Second
	attackSpace  = 4 << 30 // limit of the address space, as a backstop
)

// attackedOptions are the options with which all files are read.
func attackedOptions(dir string) dataset.FeatureOptions {
	return dataset.FeatureOptions{Memory: attackMemory, CacheDir: filepath.Join(dir, "cache"),
		Volume: dataset.VolumeOptions{Size: [3]int{16, 16, 16}}, Image: dataset.ImageOptions{Height: 8, Width: 8}}
}

// readAnyhow reads a file with every reader for its kind. Errors are expected and
// ignored.
func readAnyhow(path, dir string) error {
	switch filepath.Ext(path) {
	case ".model":
		_, err := model.Load(path)
		return err
	case ".yaml":
		text, err := yamltext.ReadFile(path)
		if err == nil {
			_, err = nn.Parse(text, 2)
		}
		return err
	}
	opts := attackedOptions(dir)
	if ext := filepath.Ext(path); ext == ".png" || ext == ".jpg" {
		path = filepath.Dir(path)
	}
	ctx := context.Background()
	_, votes := dataset.ReadVotes(ctx, path, dataset.VotesOptions{Memory: attackMemory})
	ds, err := dataset.Load(ctx, dataset.LoadOptions{Data: []string{path}, NoVotes: true, FeatureOptions: opts})
	if err != nil {
		return errors.Join(err, votes)
	}
	defer ds.Close()
	s, err := dataset.OpenStream(ctx, path, ds.Features, dataset.StreamOptions{KeepBad: true, FeatureOptions: opts})
	if err != nil {
		return err
	}
	defer s.Close()
	for {
		if _, err := s.Next(); err != nil {
			return err
		}
	}
}

// peak returns the peak memory of this process.
func peak() int64 {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb << 10
		}
	}
	return 0
}

const attackReadEnv = "CREDENCE_ATTACK_READ"

// TestAttackReadChild runs in the child: it reads mutants of a format, or the bombs, and
// prints which file it is reading.
func TestAttackReadChild(t *testing.T) {
	args := strings.Split(os.Getenv(attackReadEnv), "|")
	if len(args) != 4 {
		t.Skip("the child of other tests")
	}
	limit := syscall.Rlimit{Cur: attackSpace, Max: attackSpace}
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &limit); err != nil {
		t.Fatal(err)
	}
	format, dir := args[0], args[3]
	seed, _ := strconv.ParseUint(args[1], 10, 64)
	n, _ := strconv.Atoi(args[2])
	read := func(name, path string) {
		start := time.Now()
		err := readAnyhow(path, dir)
		took := time.Since(start)
		what := "no error"
		if err != nil && err != io.EOF {
			what = strings.ReplaceAll(err.Error(), "\n", "; ")
		}
		fmt.Printf("%s|%s|%d|%d|%.300s\n", name, path, took.Milliseconds(), peak(), what)
	}
	if format == "bomb" {
		path := dir
		dir = t.TempDir()
		read("bomb", path)
		return
	}
	seeds := attackSeeds(t, format, args[3])
	if err := os.Mkdir(filepath.Join(dir, "mutants"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		r := rand.New(rng.New(seed+uint64(i), "mutants of "+format))
		path := filepath.Join(dir, "mutants", "mutant."+format)
		if err := os.WriteFile(path, mutant(r, format, seeds), 0o644); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("%s %d\n", format, seed+uint64(i))
		read("mutant", path)
	}
}

// attackChild runs the child, and checks memory and time of each file that it reads.
func attackChild(t *testing.T, format string, seed uint64, n int, dir string) (last string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), max(10*time.Minute, time.Duration(n)*time.Second/4))
	defer stop()
	c := exec.CommandContext(ctx, os.Args[0], "-test.run", "^TestAttackReadChild$", "-test.timeout", "0")
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%d|%d|%s", attackReadEnv, format, seed, n, dir), "GOTRACEBACK=single")
	out, err := c.CombinedOutput()
	lines, files := strings.Split(string(out), "\n"), 0
	at := ""
	for _, line := range lines {
		field := strings.SplitN(line, "|", 5)
		if len(field) < 5 {
			if strings.HasPrefix(line, format+" ") {
				at = line
			}
			continue
		}
		files++
		last = field[4]
		ms, _ := strconv.Atoi(field[2])
		top, _ := strconv.ParseInt(field[3], 10, 64)
		if top > attackPeak {
			t.Errorf("%s: %d MB at the peak, more than %d: %s", at, top>>20, attackPeak>>20, field[4])
			break // those that follow have the same peak
		}
		if took := time.Duration(ms) * time.Millisecond; took > attackTime {
			t.Errorf("%s: took %v: %s", at, took, field[4])
		}
	}
	if err != nil || files != n {
		t.Errorf("%s: read %d of %d files, the last is %s: %v\n%s", format, files, n, at, err, strings.Join(lines[max(0, len(lines)-40):], "\n"))
	}
	return last
}

// Damaged files of every format are read or rejected, in bounded memory and time.
func TestAttackMutants(t *testing.T) {
	n := 200
	if k, err := strconv.Atoi(os.Getenv("CREDENCE_ATTACK_MUTANTS")); err == nil {
		n = k
	}
	seed := uint64(time.Now().UnixNano())
	if s, err := strconv.ParseUint(os.Getenv("CREDENCE_ATTACK_SEED"), 10, 64); err == nil {
		seed = s
	}
	for _, format := range attackFormats {
		t.Run(format, func(t *testing.T) {
			t.Logf("seeds %d to %d", seed, seed+uint64(n)-1)
			attackChild(t, format, seed, n, t.TempDir())
		})
	}
}

// Small files that claim to need gigabytes are rejected, in bounded memory.
func TestAttackBombs(t *testing.T) {
	for _, b := range bombs {
		t.Run(b.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), b.file)
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			w := bufio.NewWriterSize(f, 1<<20)
			if err := errors.Join(b.write(w), w.Flush(), f.Close()); err != nil {
				t.Fatal(err)
			}
			if got := attackChild(t, "bomb", 0, 1, path); !strings.Contains(got, b.want) {
				t.Errorf("got %q, want %q", got, b.want)
			}
		})
	}
}
