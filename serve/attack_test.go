//go:build attack

package serve

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"credence/internal/rng"
	"credence/internal/votelog"
)

// childEnv is the environment variable with the folder that a copy of the test binary serves.
const childEnv = "CREDENCE_ATTACK_SERVE"

// TestAttackServer is the server that [TestAttackVotes] kills.
func TestAttackServer(t *testing.T) {
	dir := os.Getenv(childEnv)
	if dir == "" {
		t.Skip("run by TestAttackVotes")
	}
	s, err := New(Options{Path: filepath.Join(dir, "first"), Votes: filepath.Join(dir, "votes.csv")})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("listening %s\n", l.Addr())
	t.Fatal(s.Serve(t.Context(), l, nil))
}

// TestAttackVotes repeatedly kills a server under load: no acknowledged vote is lost, and none is
// duplicated.
func TestAttackVotes(t *testing.T) {
	times := 30
	if text := os.Getenv("CREDENCE_ATTACK_VOTE_KILLS"); text != "" {
		var err error
		if times, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	save(t, fitted()[0], dir, "first")
	random := rand.New(rng.New(1, "moments of death"))
	acknowledged := map[string]bool{}
	for k := range times {
		for _, key := range killUnderLoad(t, dir, k, time.Duration(random.IntN(120))*time.Millisecond) {
			acknowledged[key] = true
		}
	}
	log, err := votelog.Open(filepath.Join(dir, "votes.csv"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	there := map[string]int{}
	for _, v := range log.Votes(0) {
		there[v.Key]++
	}
	for key := range acknowledged {
		if there[key] != 1 {
			t.Errorf("vote %s was acknowledged and is there %d times", key, there[key])
		}
	}
	t.Logf("%d kills, %d votes acknowledged, %d on disk", times, len(acknowledged), len(there))
	if len(acknowledged) < times {
		t.Errorf("only %d votes were acknowledged before %d kills", len(acknowledged), times)
	}
}

// killUnderLoad posts votes from several goroutines, kills the server after a while, and returns the
// keys of the acknowledged votes.
func killUnderLoad(t *testing.T, dir string, k int, after time.Duration) (keys []string) {
	t.Helper()
	cmd, addr := startChild(t, dir)
	var mu sync.Mutex
	var wg sync.WaitGroup
	first := make(chan struct{}, 8)
	for g := range 8 {
		wg.Go(func() {
			for n := 0; ; n++ {
				key := fmt.Sprintf("%d-%d-%d", k, g, n)
				body := fmt.Sprintf(`{"item":"i%d","rater":"r%d","label":"yes","key":%q}`, n, g, key)
				resp, err := http.Post("http://"+addr+"/api/v1/votes", "application/json", strings.NewReader(body))
				if err != nil {
					return // killed
				}
				resp.Body.Close()
				if resp.StatusCode != http.StatusCreated {
					t.Errorf("vote %s: %s", key, resp.Status)
					return
				}
				mu.Lock()
				keys = append(keys, key)
				mu.Unlock()
				if n == 0 {
					first <- struct{}{}
				}
			}
		})
	}
	select {
	case <-first:
	case <-time.After(20 * time.Second):
		t.Error("no vote was acknowledged in 20 seconds")
	}
	time.Sleep(after)
	cmd.Process.Kill()
	cmd.Wait()
	wg.Wait()
	http.DefaultClient.CloseIdleConnections()
	return keys
}
