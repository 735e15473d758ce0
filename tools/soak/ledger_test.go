//go:build linux

package main

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// line returns a vote as the server writes it.
func line(v vote, key string) string {
	text := strings.Join([]string{v.item, v.rater, v.label, "2026-01-01T00:00:00.000Z", key}, ",")
	return fmt.Sprintf("%s,%08x\n", text, crc32.Checksum([]byte(text), castagnoli))
}

// TestCheck gives the check of a vote file each of the faults that it is there to find.
func TestCheck(t *testing.T) {
	l := newLedger(1, 0)
	a, b, c := vote{"a", "r1", "yes"}, vote{"b", "r1", "no"}, vote{"c", "r2", "no"}
	keyA, keyB, keyC := l.add(a), l.add(b), l.add(c)
	l.acknowledge(keyA)
	l.acknowledge(keyB)
	l.unanswered(keyC) // it may be there or not
	taken, _ := l.takeStanding()
	l.withdrawn(taken)
	const header = "item,rater,label,time,key,check\n"
	good := header + line(a, keyA) + line(b, keyB) + line(vote{"a", "r1", ""}, "")
	for _, x := range []struct {
		name, text string
		running    bool
		want       tally
	}{
		{"all", good, false, tally{}},
		{"one not acknowledged", good + line(c, keyC), false, tally{}},
		{"skipped", good + line(vote{"c", "r9", ""}, "skip:1"), false, tally{}},
		{"half a line while it runs", good + "c,r2", true, tally{}},
		{"half a line", good + "c,r2", false, tally{damaged: 1}},
		{"lost", strings.Replace(good, line(b, keyB), "", 1), false, tally{lost: 1}},
		{"a withdrawal lost", strings.Replace(good, line(vote{"a", "r1", ""}, ""), "", 1), false, tally{lost: 1}},
		{"twice", good + line(b, keyB), false, tally{twice: 1}},
		{"changed", strings.Replace(good, line(b, keyB), line(vote{"b", "r1", "yes"}, keyB), 1), false, tally{changed: 1, lost: 1}},
		{"damaged", strings.Replace(good, "b,r1,no", "b,r1,nO", 1), false, tally{damaged: 1, lost: 1}},
		{"never sent", good + line(c, "another"), false, tally{foreign: 1}},
		{"never withdrawn", good + line(vote{"b", "r1", ""}, ""), false, tally{foreign: 1}},
	} {
		path := filepath.Join(t.TempDir(), "votes.csv")
		if err := os.WriteFile(path, []byte(x.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := l.check(path, x.running)
		x.want.acknowledged, x.want.lines = 3, got.lines
		if err != nil || got != x.want {
			t.Errorf("%s: found %+v, %v; want %+v", x.name, got, err, x.want)
		}
	}
}
