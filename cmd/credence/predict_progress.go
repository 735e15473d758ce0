package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"credence/internal/table"
	"credence/internal/words"
)

// predictProgress tells how far a long prediction is: on a terminal in a line that
// changes, elsewhere in a line from time to time.
type predictProgress struct {
	statusLine
	every   time.Duration // between lines; 0 for none
	now     func() time.Time
	start   time.Time
	input   string
	total   int // items, 0 if that is not known
	before  int // items that were predicted already when the watch began
	counted bool
}

// newPredictProgress begins the watch. A terminal that shows predictions has no room for it.
func newPredictProgress(w io.Writer, input string, seconds float64, stdout io.Writer, toStdout bool) *predictProgress {
	p := &predictProgress{statusLine: newStatusLine(w), every: time.Duration(seconds * float64(time.Second)), now: time.Now, input: input}
	if toStdout && isTerminal(stdout) {
		p.every = 0
	}
	p.start = p.now()
	p.last = p.start
	if p.live {
		p.last = p.start.Add(time.Second) // short work needs no line
	}
	return p
}

// done is told how many items were predicted so far; total is how many there are,
// or 0.
func (p *predictProgress) done(items, total int) {
	now := p.now()
	if p.every == 0 || !p.due(now, min(p.every, 200*time.Millisecond), p.every) {
		return
	}
	if p.total = max(p.total, total); p.total == 0 && !p.counted {
		p.total, p.counted = countLines(p.input), true
	}
	p.show("credence: ", p.text(items, now.Sub(p.start)))
}

// resumed is told how many items an earlier run has predicted: their time does not count.
func (p *predictProgress) resumed(items int) {
	p.before, p.start = items, p.now()
}

// text is the line.
func (p *predictProgress) text(items int, took time.Duration) string {
	rate := float64(items-p.before) / max(1e-9, took.Seconds())
	speed := fmt.Sprintf("%s items/s", words.Thousands(int(rate)))
	if rate < 10 {
		speed = fmt.Sprintf("%.1f items/s", rate)
	}
	if p.total == 0 {
		return fmt.Sprintf("%s predicted, %s", words.Plural(items, "item"), speed)
	}
	items = min(items, p.total)
	share := float64(items) / float64(p.total)
	left := time.Duration(float64(p.total-items) / max(1e-9, rate) * float64(time.Second)).Round(time.Second)
	text := fmt.Sprintf("%s of about %s, %.0f%%, %s, %s left", words.Thousands(items), words.Plural(p.total, "item"), 100*share, speed, left)
	if p.live {
		const width = 20
		full := int(share * width)
		text = strings.Repeat("█", full) + strings.Repeat("░", width-full) + " " + text
	}
	return text
}

// countLines returns how many lines of text a file has below its first, or 0 if it is
// no plain text that is there to be read twice.
func countLines(path string) int {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || !table.IsLines(path) {
		return 0
	}
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	n, last := 0, byte('\n')
	buf := make([]byte, 1<<20)
	for {
		k, err := f.Read(buf)
		n += bytes.Count(buf[:k], []byte{'\n'})
		if k > 0 {
			last = buf[k-1]
		}
		if err != nil {
			break
		}
	}
	if last != '\n' {
		n++
	}
	return max(0, n-1)
}
