//go:build linux

package main

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"time"
)

// counts are what the table reports.
type counts struct {
	requests, late, interrupted, noSpace, notReady, left, compared, repeats  atomic.Int64
	kills, killsWithoutSpace, restarts, fulls, hups, tokens, damages, drifts atomic.Int64
	retrainings, trainingKills, trainingsWithoutSpace, loads, monitorings    atomic.Int64
	logChecks, evidence                                                      atomic.Int64
}

// acknowledged returns the number of votes that were acknowledged.
func (s *soak) acknowledged() (n int) {
	for _, v := range s.servers {
		v.ledger.mu.Lock()
		n += len(v.ledger.acked)
		v.ledger.mu.Unlock()
	}
	return n
}

// table prints the result.
func (s *soak) table(stopped bool) {
	row := func(name, format string, args ...any) {
		fmt.Printf("%-24s"+format+"\n", append([]any{name}, args...)...)
	}
	took := time.Since(s.began)
	c := &s.counts
	if stopped {
		fmt.Println("\nstopped before its time was over")
	}
	fmt.Println()
	row("time, seed", "%v, %d", took.Round(time.Second), s.seed)
	row("requests", "%d (%d cut off by a kill, %d without space, %d before items were ready, %d left by the client)",
		c.requests.Load(), c.interrupted.Load(), c.noSpace.Load(), c.notReady.Load(), c.left.Load())
	row("not sent", "%d, since 64 were at work", c.late.Load())
	var sum tally
	alarms, unsent := 0, 0
	for _, v := range s.servers {
		t := v.tally
		sum.lines, sum.acknowledged, sum.lost, sum.twice = sum.lines+t.lines, sum.acknowledged+t.acknowledged, sum.lost+t.lost, sum.twice+t.twice
		sum.foreign, sum.changed, sum.damaged = sum.foreign+t.foreign, sum.changed+t.changed, sum.damaged+t.damaged
		alarms, unsent = alarms+v.recorded, unsent+v.unsent
	}
	row("votes acknowledged", "%d, of which %d were sent twice or more; lines on disk %d", sum.acknowledged, c.repeats.Load(), sum.lines)
	row("votes lost", "%d", sum.lost)
	row("votes twice", "%d; changed %d, damaged lines %d, lines never sent %d", sum.twice, sum.changed, sum.damaged, sum.foreign)
	row("checks of vote files", "%d", c.logChecks.Load())
	row("predictions compared", "%d with those of credence predict", c.compared.Load())
	row("kills", "%d, of which %d with a full disk; ended in order %d", c.kills.Load(), c.killsWithoutSpace.Load(), c.restarts.Load())
	row("evidence after a kill", "%d times compared with that before", c.evidence.Load())
	row("full disks", "%d", c.fulls.Load())
	row("retrainings", "%d, of which %d killed and resumed; %d stopped by a full disk and resumed", c.retrainings.Load(), c.trainingKills.Load(), c.trainingsWithoutSpace.Load())
	row("reloads", "%d models loaded, %d SIGHUP, %d tokens exchanged, %d damaged models", c.loads.Load(), c.hups.Load(), c.tokens.Load(), c.damages.Load())
	row("monitoring", "%d times credence monitor, %d drifts, %d alarms (%d not delivered before their model was replaced)",
		c.monitorings.Load(), c.drifts.Load(), alarms, unsent)
	fmt.Printf("\n%-24s%12s%12s%12s\n", "server", "", "start", "end")
	for _, v := range s.servers {
		a, b := v.start, v.end
		if a == nil || b == nil {
			continue
		}
		fmt.Printf("%-24s%12s%12.1f%12.1f\n", v.name, "RSS MB", a.resident/1e6, b.resident/1e6)
		fmt.Printf("%-24s%12s%12.1f%12.1f\n", "", "live MB", a.live/1e6, b.live/1e6)
		fmt.Printf("%-24s%12s%12.0f%12.0f\n", "", "descriptors", a.descriptors, b.descriptors)
		fmt.Printf("%-24s%12s%12.0f%12.0f\n", "", "goroutines", a.goroutines, b.goroutines)
		// The resident memory goes up and down with the last garbage collection; what is live after it grows with the votes only.
		if b.descriptors > a.descriptors+10 || b.goroutines > a.goroutines+10 || b.live > 1.5*a.live+32e6 || b.resident > 2*a.resident+128e6 {
			s.failf("%s: more descriptors, goroutines or memory at the end than at the start", v.name)
		}
	}
	var self, children syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &self)
	_ = syscall.Getrusage(syscall.RUSAGE_CHILDREN, &children)
	used := time.Duration(self.Utime.Nano() + self.Stime.Nano() + children.Utime.Nano() + children.Stime.Nano())
	fmt.Println()
	row("processor", "%.0f%% of a core on average", 100*used.Seconds()/took.Seconds())
	row("failures", "%d", len(s.failures))
	for i, text := range s.failures {
		if i == 20 {
			fmt.Printf("  and %d more\n", len(s.failures)-i)
			break
		}
		fmt.Println("  " + text)
	}
}
