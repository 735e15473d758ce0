package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	if o, ok := w.(*output); ok {
		w = o.w
	}
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// statusLine shows the progress of long work: in a line of a terminal that is redrawn, or elsewhere
// in a new line from time to time.
type statusLine struct {
	w     io.Writer
	live  bool // w is a terminal
	drawn bool
	last  time.Time // time of the last update
}

func newStatusLine(w io.Writer) statusLine {
	return statusLine{w: w, live: isTerminal(w), last: time.Now()}
}

// due reports whether it is time for the next update: after the first interval on a terminal, or the second elsewhere.
func (l *statusLine) due(now time.Time, live, elsewhere time.Duration) bool {
	if l.live {
		elsewhere = live
	}
	if now.Sub(l.last) < elsewhere {
		return false
	}
	l.last = now
	return true
}

// show redraws the line on a terminal, and elsewhere writes a new line with a prefix.
func (l *statusLine) show(prefix, text string) {
	if l.live {
		l.draw(text)
	} else {
		fmt.Fprintln(l.w, prefix+text)
	}
}

// draw redraws the line.
func (l *statusLine) draw(text string) {
	l.erase()
	fmt.Fprint(l.w, text)
	l.drawn = true
}

// erase removes the line.
func (l *statusLine) erase() {
	if l.drawn {
		fmt.Fprint(l.w, "\r\x1b[K")
		l.drawn = false
	}
}

// declareThreads adds the flag --threads, the number of cores that a verb uses, 0 for all.
func declareThreads(f *pflag.FlagSet, n int, usage string) { f.Int("threads", n, usage) }

// useThreads applies the flag of declareThreads. It ignores that of credence train, which is an option of its settings
// and not of type int.
func useThreads(f *pflag.FlagSet) error {
	n, err := f.GetInt("threads")
	if err != nil {
		return nil // there is no such flag
	}
	runtime.GOMAXPROCS(n) // no change for n < 1
	return expect(n >= 0, "--threads %d: expected at least 1, or 0 for all cores", n)
}

// interruptible returns a context that is canceled by the first signal. A second
// signal ends the program at once.
func interruptible(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// shellQuote quotes an argument for a shell, if necessary.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=,:+@%", r) || r > 127
	}
	if s != "" && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
