//go:build attack && linux

package serve

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"credence/internal/rng"
	"credence/internal/votelog"
)

// TestAttackFullDisk fills the disk of a server under load and frees it again, over and over, and kills
// the server in between: no acknowledged vote is lost or duplicated, and the server accepts votes again
// without a restart when there is space.
func TestAttackFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("credence", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("mounting a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	save(t, fitted()[0], dir, "first")
	d := &diskAttack{acknowledged: map[string]bool{}}
	random := rand.New(rng.New(2, "moments of death"))
	for k := range 10 {
		d.round(t, dir, k, random)
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
	for key := range d.acknowledged {
		if there[key] != 1 {
			t.Errorf("vote %s was acknowledged and is there %d times", key, there[key])
		}
	}
	t.Logf("%d votes acknowledged, %d refused, %d on disk", len(d.acknowledged), d.refused.Load(), len(there))
	if d.refused.Load() == 0 {
		t.Error("no vote was refused: the disk was never full")
	}
}

type diskAttack struct {
	mu           sync.Mutex
	acknowledged map[string]bool
	refused      atomic.Int64
}

// round serves, fills and frees the disk three times under load, and kills the server.
func (d *diskAttack) round(t *testing.T, dir string, k int, random *rand.Rand) {
	cmd, addr := startChild(t, dir)
	var wg sync.WaitGroup
	var acks atomic.Int64
	for g := range 4 {
		wg.Go(func() {
			for n := 0; d.post(t, addr, fmt.Sprintf("%d-%d-%d", k, g, n), &acks); n++ {
			}
		})
	}
	// These waits end on any machine, however slow: the numbers of acknowledged and rejected votes keep growing.
	await := func(count *atomic.Int64, what string) {
		from := count.Load()
		for range 2000 {
			if count.Load() > from {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatalf("round %d: no vote was %s in 20 seconds", k, what)
	}
	filler := filepath.Join(dir, "filler")
	for range 3 {
		await(&acks, "acknowledged")
		fill(t, filler)
		await(&d.refused, "refused")
		time.Sleep(time.Duration(random.IntN(50)) * time.Millisecond)
		if err := os.Remove(filler); err != nil {
			t.Error(err)
		}
	}
	await(&acks, "acknowledged")
	if random.IntN(2) == 0 {
		fill(t, filler)
	}
	time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
	cmd.Process.Kill()
	cmd.Wait()
	wg.Wait()
	http.DefaultClient.CloseIdleConnections()
	if err := os.Remove(filler); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// post sends a vote until it is acknowledged, and reports whether it was: false after the server is killed.
func (d *diskAttack) post(t *testing.T, addr, key string, acks *atomic.Int64) bool {
	for {
		body := fmt.Sprintf(`{"item":"i%s","rater":"%s","label":"yes","key":%q}`, key, strings.Repeat("r", 500), key)
		resp, err := http.Post("http://"+addr+"/api/v1/votes", "application/json", strings.NewReader(body))
		if err != nil {
			return false
		}
		resp.Body.Close()
		switch resp.StatusCode {
		case http.StatusCreated:
			d.mu.Lock()
			d.acknowledged[key] = true
			d.mu.Unlock()
			acks.Add(1)
			time.Sleep(time.Millisecond) // so that the disk is not full of votes alone
			return true
		case http.StatusInsufficientStorage:
			d.refused.Add(1)
			time.Sleep(time.Millisecond)
		default:
			t.Errorf("vote %s: %s", key, resp.Status)
			return false
		}
	}
}

// fill writes a file until there is no space left.
func fill(t *testing.T, path string) {
	f, err := os.Create(path)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 1000))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
}
