package serve

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"credence/monitor"
)

// healthOf waits until the server has counted all lines of its vote file for its current model, and returns its report.
func healthOf(t *testing.T, s *Server, base string) healthBody {
	t.Helper()
	for range 500 {
		p, release, err := s.queue.get()
		if err != nil {
			t.Fatal(err)
		}
		release()
		s.health.mu.Lock()
		done := s.health.monitor != nil && s.health.of == p && s.health.seen == len(s.votes.Votes(0))
		s.health.mu.Unlock()
		if done {
			return want[healthBody](t, "GET", base+"/api/v1/health", nil)
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("the votes were not counted: %v", s.health.failed)
	return healthBody{}
}

// TestHealth posts votes, withdraws one, raises an alarm, which is delivered once to a webhook that fails first, and starts
// again: the evidence is the same, and the alarm stays.
func TestHealth(t *testing.T) {
	t.Parallel() // it waits for the clock of the server
	var mu sync.Mutex
	var got []string
	tries := 0
	key := []byte("a key of sixteen characters")
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if tries++; tries == 1 {
			http.Error(w, "not yet", http.StatusServiceUnavailable)
			return
		}
		body, _ := io.ReadAll(r.Body)
		mac := hmac.New(sha256.New, key)
		mac.Write(body)
		if r.Header.Get("X-Credence-Signature") != "sha256="+hex.EncodeToString(mac.Sum(nil)) {
			t.Errorf("expected a signed request, found %q", r.Header)
		}
		got = append(got, string(body))
	}))
	defer hook.Close()
	o := Options{Health: Health{Options: monitor.Options{By: "site"}, AlarmURL: hook.URL, AlarmKey: key}}
	s, base, _ := desk(t, o)
	first := healthOf(t, s, base)
	if first.Votes != 0 || first.Level != monitor.Quiet || first.Evidence.Tolerant != 1 {
		t.Fatalf("expected no votes, found %v", first.Report.Text)
	}
	for i := range 40 {
		if i != 7 {
			for r := range 4 {
				want[voteSavedBody](t, "POST", base+"/api/v1/votes", apiVote{Item: fmt.Sprintf("i%d", i), Rater: fmt.Sprintf("r%d", r), Label: "yes"})
			}
		}
	}
	all := healthOf(t, s, base)
	if all.Votes != 4*39 || all.Evidence.Tolerant < 20 || len(all.Alarms) == 0 || len(all.Groups) != 3 || len(all.Advice) == 0 {
		t.Fatalf("expected an alarm from 156 votes, found %d, %v, %v", all.Votes, all.Evidence, all.Alarms)
	}
	want[savedBody](t, "DELETE", base+"/api/v1/votes?item=i3&rater=r1", nil)
	less := healthOf(t, s, base)
	if less.Votes != all.Votes-1 || less.Evidence == all.Evidence || len(less.Alarms) != len(all.Alarms) {
		t.Errorf("after a withdrawal: expected 155 votes, other evidence and the same alarms, found %d, %v, %v", less.Votes, less.Evidence, less.Alarms)
	}
	_, _, metrics := ask(t, "GET", base+"/metrics", "", "")
	for _, line := range []string{`credence_evidence{group="all",model=`, `credence_evidence{group="site s0",model=`, `credence_alarm{kind="votes",model="`} {
		if !strings.Contains(metrics, line) {
			t.Errorf("metrics: expected %s", line)
		}
	}
	for range 500 {
		mu.Lock()
		n := len(got)
		mu.Unlock()
		if n >= len(all.Alarms) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	mu.Lock()
	if len(got) != len(all.Alarms) || tries != len(got)+1 || !strings.Contains(got[0], `"text":"votes`) {
		t.Errorf("webhook: expected each alarm once after a failed try, found %d tries and %q", tries, got)
	}
	mu.Unlock()

	again, url := restart(t, s)
	if r := healthOf(t, again, url); r.Evidence != less.Evidence || r.Votes != less.Votes || len(r.Alarms) != len(all.Alarms) || r.RaterEvidence != less.RaterEvidence {
		t.Errorf("after a restart: expected %v, found %v, %v", less.Evidence, r.Evidence, r.Alarms)
	}
}

// restart closes a server and returns another with its options, once its items are ready, and its address.
func restart(t *testing.T, s *Server) (again *Server, url string) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := New(s.options)
	if err != nil {
		t.Fatal(err)
	}
	await(t, again)
	server := httptest.NewServer(again.Handler())
	t.Cleanup(func() {
		server.Close()
		again.Close()
	})
	return again, server.URL
}

// healthFolder names the folder of the server that TestHealthChild runs in another process.
const healthFolder = "CREDENCE_HEALTH_FOLDER"

// TestHealthChild is the server of TestHealthKilled.
func TestHealthChild(t *testing.T) {
	dir := os.Getenv(healthFolder)
	if dir == "" {
		t.Skip("run by TestHealthKilled")
	}
	s, err := New(Options{Path: filepath.Join(dir, "run"), Votes: filepath.Join(dir, "votes.csv"), Queue: Queue{Items: []string{filepath.Join(dir, "items.csv")}}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	await(t, s)
	fmt.Printf("http://%s\n", l.Addr())
	_ = s.Serve(context.Background(), l, nil)
}

// TestHealthKilled kills a server without warning while votes arrive, many times: after each start, the evidence is that of
// the votes on disk, each counted once. CREDENCE_KILLS is the number of times, 5 without it.
func TestHealthKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel() // it waits for them
	kills := 5
	if text := os.Getenv("CREDENCE_KILLS"); text != "" {
		if _, err := fmt.Sscan(text, &kills); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	save(t, fit(1), dir, "run")
	var items strings.Builder
	items.WriteString("item,age,sex\n")
	for i := range 300 {
		fmt.Fprintf(&items, "i%d,%d,%s\n", i, 20+i*37%61, []string{"f", "m"}[i%2])
	}
	if err := os.WriteFile(filepath.Join(dir, "items.csv"), []byte(items.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	begin := func() (base string, cmd *exec.Cmd) {
		cmd = exec.Command(os.Args[0], "-test.run=^TestHealthChild$")
		cmd.Env = append(os.Environ(), healthFolder+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "http://") {
				return lines.Text(), cmd
			}
		}
		t.Fatal("the server did not start")
		return "", nil
	}
	report := func(base string) (r healthBody) {
		before := -1
		for range 500 {
			if status := call(t, "GET", base+"/api/v1/health", nil, &r); status == http.StatusOK && r.Votes == before {
				return r
			} else if status == http.StatusOK {
				before = r.Votes
			}
			time.Sleep(30 * time.Millisecond)
		}
		t.Fatal("no report")
		return r
	}
	r := rand.New(rand.NewPCG(1, 2))
	sent := 0
	for k := range kills {
		base, cmd := begin()
		var posting sync.WaitGroup
		for c := range 3 {
			from := sent + 100*c
			posting.Go(func() {
				for n := from; n < from+100; n++ {
					body, _ := json.Marshal(apiVote{Item: fmt.Sprintf("i%d", n*7%300), Rater: fmt.Sprintf("r%d", n%11), Label: []string{"no", "yes"}[n/3%2]})
					response, err := http.Post(base+"/api/v1/votes", "application/json", strings.NewReader(string(body)))
					if err != nil {
						return // killed
					}
					response.Body.Close()
				}
			})
		}
		sent += 300
		time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		posting.Wait()

		base, cmd = begin()
		got := report(base)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if k%10 != 0 && k != kills-1 {
			continue // comparing takes as long as a start
		}
		state := filepath.Join(dir, "votes.csv.monitor.json")
		if text, err := os.ReadFile(state); err != nil || !strings.Contains(string(text), `"lines"`) {
			t.Fatalf("state: %s, %v", text, err)
		}
		// A server that replays the whole file from the beginning.
		s, err := New(Options{Path: filepath.Join(dir, "run"), Votes: filepath.Join(dir, "votes.csv"), Queue: Queue{Items: []string{filepath.Join(dir, "items.csv")}}})
		if err != nil {
			t.Fatal(err)
		}
		await(t, s)
		server := httptest.NewServer(s.Handler())
		whole := healthOf(t, s, server.URL)
		server.Close()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if got.Votes != whole.Votes || got.Evidence != whole.Evidence || got.RaterEvidence != whole.RaterEvidence {
			t.Fatalf("kill %d: expected %d votes and evidence %v, found %d and %v", k, whole.Votes, whole.Evidence, got.Votes, got.Evidence)
		}
	}
}
