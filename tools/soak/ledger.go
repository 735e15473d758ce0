//go:build linux

package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
)

// vote is a posted vote.
type vote struct{ item, rater, label string }

// ledger is what the clients of one server know about their votes, independent of the server.
type ledger struct {
	prefix string

	mu     sync.Mutex
	next   int
	sent   map[string]vote // by key
	acked  map[string]bool // keys of acknowledged votes
	open   []string        // keys of votes that were not acknowledged
	stand  []vote          // some acknowledged votes, to withdraw
	undone map[vote]int    // acknowledged withdrawals without a key, by item and rater
	tried  map[vote]int    // sent ones
}

func newLedger(seed uint64, server int) *ledger {
	return &ledger{prefix: fmt.Sprintf("s%d-%d-", seed, server), sent: map[string]vote{}, acked: map[string]bool{},
		undone: map[vote]int{}, tried: map[vote]int{}}
}

// add returns the key of a new vote.
func (l *ledger) add(v vote) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := fmt.Sprint(l.prefix, l.next)
	l.next++
	l.sent[key] = v
	return key
}

// acknowledge records that the server confirmed a vote.
func (l *ledger) acknowledge(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked[key] = true
	if v := l.sent[key]; v.label != "" && len(l.stand) < 1000 {
		l.stand = append(l.stand, v)
	}
}

// unanswered records that a vote may or may not be on disk.
func (l *ledger) unanswered(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = append(l.open, key)
}

// takeOpen removes and returns a vote that was not acknowledged, the oldest.
func (l *ledger) takeOpen() (key string, v vote, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) == 0 {
		return "", v, false
	}
	key, l.open = l.open[0], l.open[1:]
	return key, l.sent[key], true
}

// known returns an acknowledged vote.
func (l *ledger) known(random *rand.Rand) (key string, v vote, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range 10 {
		if l.next == 0 {
			break
		}
		if key = fmt.Sprint(l.prefix, random.IntN(l.next)); l.acked[key] {
			return key, l.sent[key], true
		}
	}
	return "", v, false
}

// takeStanding removes and returns a vote to withdraw.
func (l *ledger) takeStanding() (v vote, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.stand) == 0 {
		return v, false
	}
	v, l.stand = l.stand[0], l.stand[1:]
	l.tried[vote{v.item, v.rater, ""}]++
	return v, true
}

func (l *ledger) withdrawn(v vote) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.undone[vote{v.item, v.rater, ""}]++
}

// tally is what a check of a file found.
type tally struct{ lines, acknowledged, lost, twice, foreign, changed, damaged int }

func (t tally) bad() bool { return t.lost+t.twice+t.foreign+t.changed+t.damaged > 0 }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// check compares a vote file with the ledger, by reading the format as documented instead of with the server's code. The last line
// may be incomplete while the server runs; votes that are acknowledged after the file was read are not expected in it.
func (l *ledger) check(path string, running bool) (t tally, err error) {
	l.mu.Lock()
	acked := make([]string, 0, len(l.acked))
	for key := range l.acked {
		acked = append(acked, key)
	}
	undone := map[vote]int{}
	for v, n := range l.undone {
		undone[v] = n
	}
	l.mu.Unlock()
	text, err := os.ReadFile(path)
	if err != nil {
		return t, err
	}
	if at := bytes.LastIndexByte(text, '\n'); running {
		text = text[:at+1]
	}
	there, withdrawals := map[string]int{}, map[vote]int{}
	for n, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		if n == 0 {
			continue
		}
		t.lines++
		at := strings.LastIndexByte(line, ',')
		fields, err := csv.NewReader(strings.NewReader(line)).Read()
		if err != nil || len(fields) != 6 || fmt.Sprintf("%08x", crc32.Checksum([]byte(line[:at]), castagnoli)) != fields[5] {
			t.damaged++
			continue
		}
		v, key := vote{fields[0], fields[1], fields[2]}, fields[4]
		switch l.mu.Lock(); {
		case strings.HasPrefix(key, "skip:") && v.label == "":
		case key == "" && v.label == "":
			withdrawals[v]++
			if withdrawals[v] > l.tried[v] {
				t.foreign++
			}
		case l.sent[key] == vote{}:
			t.foreign++
		case l.sent[key] != v:
			t.changed++
		default:
			if there[key]++; there[key] > 1 {
				t.twice++
			}
		}
		l.mu.Unlock()
	}
	t.acknowledged = len(acked)
	for _, key := range acked {
		if there[key] == 0 {
			t.lost++
		}
	}
	for v, n := range undone {
		t.acknowledged += n
		t.lost += max(0, n-withdrawals[v])
	}
	return t, nil
}

// checkLog checks the votes of a server.
func (s *soak) checkLog(v *server, final bool) {
	t, err := v.ledger.check(v.log, !final)
	if err != nil {
		s.failf("%s: %v", v.name, err)
		return
	}
	if t.bad() {
		s.failf("%s: of %d acknowledged votes %d are lost, %d are there twice, %d changed; %d lines are damaged, %d were never sent",
			v.name, t.acknowledged, t.lost, t.twice, t.changed, t.damaged, t.foreign)
	}
	v.tally = t
	s.counts.logChecks.Add(1)
}
