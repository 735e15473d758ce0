//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// event happens at random moments.
type event struct {
	name  string
	every time.Duration // on average, in a soak of an hour or more
	run   func(s *soak, random *rand.Rand)
	next  time.Time
}

// newEvents returns the events; a short soak has them more often.
func newEvents() []*event {
	return []*event{
		{name: "kill", every: 45 * time.Second, run: (*soak).kill},
		{name: "restart", every: 5 * time.Minute, run: (*soak).restart},
		{name: "full disk", every: 90 * time.Second, run: (*soak).fillOrFree},
		{name: "retraining", every: 2 * time.Minute, run: (*soak).retrainApart},
		{name: "SIGHUP", every: time.Minute, run: (*soak).hangUp},
		{name: "token", every: 5 * time.Minute, run: (*soak).exchangeToken},
		{name: "damaged model", every: 5 * time.Minute, run: (*soak).damage},
		{name: "drift", every: 4 * time.Minute, run: (*soak).drift},
		{name: "monitor", every: 4 * time.Minute, run: (*soak).monitor},
		{name: "votes", every: 30 * time.Second, run: (*soak).checkLogs},
	}
}

// events lets things happen until the time is over. They happen one after the other, except that the disk stays full, and a
// retraining goes on, while others happen.
func (s *soak) events(ctx context.Context) {
	random := rand.New(rand.NewPCG(s.seed, 3))
	list, end := newEvents(), s.began.Add(s.length)
	scale := min(1, max(0.1, s.length.Hours()))
	wait := func(e *event) {
		e.next = time.Now().Add(time.Duration(random.ExpFloat64() * scale * float64(e.every)))
	}
	for _, e := range list {
		wait(e)
	}
	report, warm := time.Now(), s.began.Add(time.Duration(warmUp*float64(s.length)))
	for ctx.Err() == nil && time.Now().Before(end) {
		first := list[0]
		for _, e := range list {
			if e.next.Before(first.next) {
				first = e
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(time.Until(first.next), time.Second)):
		}
		s.restartEnded()
		if s.servers[0].start == nil && time.Now().After(warm) {
			s.sampleAll(func(v *server) **usage { return &v.start })
		}
		if ctx.Err() == nil && !time.Now().Before(first.next) {
			first.run(s, random)
			wait(first)
			if first.name == "full disk" && s.full.on() {
				first.next = time.Now().Add(time.Duration(1+random.IntN(8)) * time.Second)
			}
		}
		if time.Since(report) > max(s.length/60, 10*time.Second) {
			report = time.Now()
			text, _ := s.get(s.servers[1], "/metrics")
			s.say("%d requests, %d votes, %d kills, %d retrainings, %d failures; %s: RSS %.0f MB, live heap %.0f MB, %.0f goroutines", s.counts.requests.Load(),
				s.acknowledged(), s.counts.kills.Load(), s.counts.retrainings.Load(), s.failed(), s.servers[1].name,
				metric(text, "process_resident_memory_bytes")/1e6, s.live(s.servers[1])/1e6, metric(text, "go_goroutines"))
		}
	}
}

// restartEnded notices servers that ended by themselves.
func (s *soak) restartEnded() {
	for _, v := range s.servers {
		if !v.running() {
			s.stop(v, 0) // records the failure
			if err := s.start(v); err != nil {
				s.failf("%s: it does not start again: %v", v.name, err)
			}
		}
	}
}

// kill ends the first server without notice. Every third time there is no traffic, and the evidence of its monitor must be the
// same afterwards.
func (s *soak) kill(random *rand.Rand) {
	v := s.servers[0]
	compare := random.IntN(3) == 0 && !s.full.on()
	var before string
	if compare {
		s.quiet.Lock()
		defer s.quiet.Unlock()
		before = s.evidence(v)
	}
	s.stop(v, syscall.SIGKILL)
	s.counts.kills.Add(1)
	if s.full.on() {
		s.counts.killsWithoutSpace.Add(1)
	}
	s.checkLog(v, false)
	time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond)
	if err := s.start(v); err != nil {
		s.failf("the server does not start again: %v", err)
		s.free()
		if err := s.start(v); err != nil {
			s.failf("nor with space on the disk: %v", err)
		}
	}
	if !compare || before == "" {
		return
	}
	if after := s.evidence(v); after != "" {
		s.counts.evidence.Add(1)
		var was, is state
		_ = json.Unmarshal([]byte(before), &was)
		_ = json.Unmarshal([]byte(after), &is)
		if was.SHA256 == is.SHA256 && before != after {
			s.failf("the monitor's evidence was %s before a kill and is %s", before, after)
		}
	}
}

// state is the part of a health report that a restart must not change.
type state struct {
	SHA256   string
	Votes    int
	Items    int
	Evidence struct{ Strict, Tolerant float64 }
	Alarms   []struct {
		Kind  string
		Votes int
	}
}

// evidence returns the state of the monitor when it has counted all votes, or "" if it has none yet.
func (s *soak) evidence(v *server) string {
	last := ""
	for range 50 {
		text, err := s.get(v, "/api/v1/health")
		if err != nil {
			time.Sleep(200 * time.Millisecond)
			continue
		}
		var now state
		if err := json.Unmarshal(text, &now); err != nil {
			s.failf("%s: %v", v.name, err)
			return ""
		}
		short, _ := json.Marshal(now)
		if string(short) == last {
			return last
		}
		last = string(short)
		time.Sleep(1200 * time.Millisecond) // the monitor looks for votes every second
	}
	s.failf("%s: the monitor reports nothing in time", v.name)
	return ""
}

// restart ends the first server in order.
func (s *soak) restart(*rand.Rand) {
	v := s.servers[0]
	s.stop(v, syscall.SIGTERM)
	s.counts.restarts.Add(1)
	if err := s.start(v); err != nil {
		s.failf("the server does not start again: %v", err)
	}
}

// fillOrFree fills the disk, or removes what fills it.
func (s *soak) fillOrFree(*rand.Rand) {
	if s.full.on() {
		s.free()
		return
	}
	s.full.toggle()
	s.counts.fulls.Add(1)
	f, err := os.Create(filepath.Join(s.disk, "filler"))
	if err != nil {
		s.failf("%v", err)
		return
	}
	s.filler = f
	for _, size := range []int{1 << 20, 1 << 12, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			s.failf("filling the disk: %v", err)
		}
	}
}

func (s *soak) free() {
	if !s.full.on() {
		return
	}
	if s.filler != nil {
		s.filler.Close()
		if err := os.Remove(s.filler.Name()); err != nil {
			s.failf("%v", err)
		}
		s.filler = nil
	}
	s.freed.Store(time.Now().UnixNano())
	s.full.toggle()
}

func (s *soak) retrainApart(random *rand.Rand) {
	kind := []string{"new", "continued", "killed", "in place"}[random.IntN(4)]
	own := rand.New(rand.NewPCG(random.Uint64(), 4))
	s.work.Go(func() { s.retrain(own, kind) })
}

// hangUp has the servers read models, token and certificate again.
func (s *soak) hangUp(*rand.Rand) {
	for _, v := range s.servers {
		if err := v.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			s.failf("%s: %v", v.name, err)
		}
	}
	s.counts.hups.Add(1)
}

// exchangeToken replaces the token, without traffic, since wrong tokens would lock this address out.
func (s *soak) exchangeToken(random *rand.Rand) {
	s.quiet.Lock()
	defer s.quiet.Unlock()
	old := *s.token.Load()
	if err := s.newToken(fmt.Sprintf("token-%016x", random.Uint64())); err != nil {
		s.failf("%v", err)
		return
	}
	s.hangUp(random)
	time.Sleep(500 * time.Millisecond)
	for _, v := range s.servers {
		if _, err := s.get(v, "/api/v1/models"); err != nil {
			s.failf("%s: with a new token: %v", v.name, err)
		}
		now := s.token.Swap(&old)
		if status, _, err := s.do(context.Background(), v, "GET", "/api/v1/models", "", nil); err != nil || status != http.StatusUnauthorized {
			s.failf("%s: with the old token: expected status 401, found %d, %v", v.name, status, err)
		}
		s.token.Store(now)
	}
	s.counts.tokens.Add(1)
}

// damage replaces the newest model by half of it for a while: the model before must remain in use.
func (s *soak) damage(*rand.Rand) {
	if !s.models.busy.TryLock() {
		return
	}
	defer s.models.busy.Unlock()
	if s.full.on() {
		return
	}
	path := filepath.Join(s.runs(s.models.newest), "model.credence")
	text, err := os.ReadFile(path)
	if err == nil {
		err = errors.Join(os.Rename(path, path+".good"), os.WriteFile(path, text[:len(text)/2], 0o644))
	}
	if err != nil {
		s.failf("%v", err)
		return
	}
	s.awaitBroken(1)
	if err := os.Rename(path+".good", path); err != nil {
		s.failf("%v", err)
	}
	s.awaitBroken(0)
	s.counts.damages.Add(1)
}

// awaitBroken waits until servers report a number of models that cannot be read.
func (s *soak) awaitBroken(n float64) {
	for _, v := range s.servers {
		for until := time.Now().Add(20 * time.Second); ; time.Sleep(250 * time.Millisecond) {
			text, err := s.get(v, "/metrics")
			if err == nil && metric(text, "credence_models_broken") == n {
				break
			}
			if time.Now().After(until) {
				s.failf("%s: expected %v damaged models in 20 seconds, found %v, %v", v.name, n, metric(text, "credence_models_broken"), err)
				break
			}
		}
	}
}

// drift changes how people vote, or back.
func (s *soak) drift(random *rand.Rand) {
	if s.items.drift.Load() != 0 {
		s.items.drift.Store(0)
		return
	}
	s.items.drift.Store([]int64{-200, 200}[random.IntN(2)])
	s.counts.drifts.Add(1)
}

// monitor runs credence monitor on the votes while they are written.
func (s *soak) monitor(random *rand.Rand) {
	if !s.models.busy.TryLock() {
		return
	}
	defer s.models.busy.Unlock()
	v := s.servers[random.IntN(2)]
	c := exec.Command(s.program, "monitor", s.runs(s.models.newest), "--votes", v.log, "--items", filepath.Join(s.dir, "pool.csv"), "--by", "site", "--json")
	text, err := c.CombinedOutput()
	if err != nil && !bytes.Contains(text, []byte("no votes to monitor")) {
		s.failf("credence monitor: %v: %s", err, text)
	}
	s.counts.monitorings.Add(1)
}

func (s *soak) checkLogs(*rand.Rand) {
	for _, v := range s.servers {
		s.checkLog(v, false)
	}
}
