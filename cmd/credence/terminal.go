package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/internal/par"
)

// isTerminal reports whether what is written to w is looked at as it comes.
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

// statusLine shows how far a long piece of work has come: in the last line of a terminal, which
// changes, or in a line now and then elsewhere.
type statusLine struct {
	w     io.Writer
	live  bool // w is a terminal
	drawn bool
	last  time.Time // when something was shown
}

func newStatusLine(w io.Writer) statusLine {
	return statusLine{w: w, live: isTerminal(w), last: time.Now()}
}

// due reports whether it is time to show something again, after a time on a terminal or after another elsewhere.
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

// show replaces the line on a terminal, and writes one, after a prefix, elsewhere.
func (l *statusLine) show(prefix, text string) {
	if l.live {
		l.draw(text)
	} else {
		fmt.Fprintln(l.w, prefix+text)
	}
}

// draw replaces the line.
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

// declareThreads adds the flag --threads: the number of cores that the whole verb uses, 0 for all.
func declareThreads(f *pflag.FlagSet, n int, usage string) { f.Int("threads", n, usage) }

// useThreads sets the number of cores to that of declareThreads. The flag of credence train is one of its settings,
// not an int.
func useThreads(f *pflag.FlagSet) error {
	n, err := f.GetInt("threads")
	if err != nil {
		return nil // there is no such flag
	}
	par.SetThreads(n)
	return expect(n >= 0, "--threads %d: expected at least 1, or 0 for all cores", n)
}

// interruptible returns a context that ends with the first signal; a second one
// ends the program at once.
func interruptible(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// shellQuote writes an argument so that a shell reads it as one.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=,:+@%", r) || r > 127
	}
	if s != "" && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
