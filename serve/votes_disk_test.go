//go:build linux || darwin

package serve

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"credence/dataset"
)

// limitFiles limits the size of all files that this process writes, so that the write that reaches the limit
// is cut short. It returns a function that lifts the limit.
func limitFiles(t *testing.T, size int64) (lift func()) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Skip(err)
	}
	now := before
	now.Cur = uint64(size)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &now); err != nil {
		t.Skip(err)
	}
	lift = sync.OnceFunc(func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			t.Error(err)
		}
		signal.Reset(syscall.SIGXFSZ)
	})
	t.Cleanup(lift)
	return lift
}

// TestVotesWithoutSpace: votes that cannot be written are rejected, and responses, readiness, metrics
// and log report why. Predictions continue, and so do votes when there is space again.
func TestVotesWithoutSpace(t *testing.T) {
	const child = "CREDENCE_TEST_WITHOUT_SPACE"
	if os.Getenv(child) == "" {
		// The limit would also apply to the log of opened files that go test has this process write.
		cmd := exec.Command(os.Args[0], "-test.run=^TestVotesWithoutSpace$")
		cmd.Env = append(os.Environ(), child+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	file := filepath.Join(t.TempDir(), "votes.csv")
	var logged lines
	_, url := start(t, Options{Votes: file, Log: slog.New(slog.NewTextHandler(&logged, nil))})
	expect := func(want int, text, method, path, body string) {
		t.Helper()
		status, _, got := ask(t, method, url+path, asJSON, body)
		if status != want || !strings.Contains(got, text) || strings.Contains(got, "votes.csv") {
			t.Errorf("%s %s %s: %d %s, want %d %s", method, path, body, status, got, want, text)
		}
	}
	vote := func(item, label string) string {
		return `{"item":"` + item + `","rater":"ann","label":"` + label + `","key":"` + item + `"}`
	}
	expect(201, "", "POST", "/api/v1/votes", vote("i1", "yes"))
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lift := limitFiles(t, int64(len(before))+10)
	const why = "votes cannot be written: file too large"
	expect(507, why, "POST", "/api/v1/votes", vote("i2", "no"))
	expect(507, why, "DELETE", "/api/v1/votes?item=i1&rater=ann", "")
	expect(507, why, "POST", "/webhook", `{"action":"ANNOTATION_CREATED","annotation":{"id":5,"completed_by":3,
		"result":[{"type":"choices","value":{"choices":["yes"]}}]},"task":{"id":11,"data":{"item":"i3","age":3}}}`)
	expect(503, why, "GET", "/v2/health/ready", "")
	expect(200, "true", "GET", "/v2/health/live", "")
	expect(200, "true", "GET", "/v2/models/first/ready", "")
	expect(200, "predictions", "POST", "/invocations", `{"instances":[[30,"f"]]}`)
	expect(200, "credence_votes_writable 0\n", "GET", "/metrics", "")
	expect(200, "credence_votes_unwritten_total 3\n", "GET", "/metrics", "")
	if after, _ := os.ReadFile(file); string(after) != string(before) {
		t.Errorf("the file holds\n%s", after)
	}
	if text := logged.String(); strings.Contains(text, "error=<nil>") || strings.Count(text, "votes.csv: file too large") < 4 {
		t.Errorf("logged\n%s", text)
	}
	lift()
	expect(201, "", "POST", "/api/v1/votes", vote("i2", "no"))
	expect(200, "true", "GET", "/v2/health/ready", "")
	expect(200, "credence_votes_writable 1\n", "GET", "/metrics", "")
	if text := logged.String(); !strings.Contains(text, "votes can be written again") {
		t.Errorf("logged\n%s", text)
	}
	ds, err := dataset.ReadVotes(context.Background(), file, dataset.VotesOptions{}) // the server still holds it
	if err != nil || strings.Join(ds.Items, " ") != "i1 i2" {
		t.Errorf("%v, %v", ds, err)
	}
}

// TestVotesUnderTwoNames: only one server at a time writes a vote file, under whatever name.
func TestVotesUnderTwoNames(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "votes.csv")
	s, _ := start(t, Options{Votes: file})
	for name, link := range map[string]func(string, string) error{"hard": os.Link, "symbolic": os.Symlink} {
		at := filepath.Join(dir, name)
		if err := link(file, at); err != nil {
			t.Fatal(err)
		}
		o := s.options
		o.Votes = at
		if s, err := New(o); err == nil {
			s.Close()
			t.Errorf("two servers have %s", file)
		} else if !strings.Contains(err.Error(), at+" is held by another process") {
			t.Error(err)
		}
	}
}
