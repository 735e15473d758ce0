package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/dataset"
	"credence/internal/cuda"
	"credence/internal/gpu"
	"credence/internal/words"
	"credence/nn"
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
	live  bool      // w is a terminal
	drawn int       // columns of the line on the terminal
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
	l.drawn = utf8.RuneCountInString(text)
}

// erase removes the line, by spaces: not every console of Windows understands control sequences.
func (l *statusLine) erase() {
	if l.drawn > 0 {
		fmt.Fprint(l.w, "\r"+strings.Repeat(" ", l.drawn)+"\r")
		l.drawn = 0
	}
}

// declareThreads adds the flag --threads, the number of cores that a verb uses, 0 for all.
func declareThreads(f *pflag.FlagSet, n int) {
	f.Int("threads", n, "number of `cores` to use, 0 for all")
}

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

// mkdirCommand returns the command that creates a folder and its parents on a system.
func mkdirCommand(system, folder string) string {
	if system == "windows" { // which would create a folder -p
		return "mkdir " + words.QuoteFor(system, folder)
	}
	return "mkdir -p " + words.QuoteFor(system, folder)
}

// device is the value of --device, the device that networks run on.
type device string

func (d *device) declare(f *pflag.FlagSet) {
	f.StringVar((*string)(d), "device", "auto", deviceHelp)
}

const deviceHelp = "`device` for networks: cpu, gpu, gpu:N for the GPU of that number, or auto, " +
	"which is the CPU; GPUs require the program credence-full"

// openGPU opens a GPU; tests count the calls.
var openGPU = gpu.Open

// forTraining returns the engine for training: with auto, a GPU for images and volumes if there is one.
func (d device) forTraining(features []dataset.Feature) (nn.Engine, error) {
	grid := func(p dataset.Feature) bool { return p.Kind == dataset.Tensor && len(p.Shape) > 1 }
	if (d == "" || d == "auto") && slices.ContainsFunc(features, grid) {
		if e, err := openGPU(-1); err == nil {
			return e, nil
		}
	}
	return d.engine()
}

// engine returns the engine that runs networks; auto is the CPU.
func (d device) engine() (nn.Engine, error) {
	if d == "" || d == "auto" || d == "cpu" {
		return nn.CPU{}, nil
	}
	number, err := d.number()
	if err != nil {
		return nil, err
	}
	e, err := openGPU(number)
	switch {
	case errors.Is(err, cuda.ErrBuild):
		return nil, withHint(usagef("--device %s: %w", string(d), err), "omit --device to run on the CPU")
	case err != nil:
		return nil, withHint(fmt.Errorf("--device %s: %w", string(d), err), "nvidia-smi lists the GPUs that the driver finds")
	}
	return e, nil
}

// number returns the number of the requested GPU, −1 for any.
func (d device) number() (int, error) {
	if d == "" || d == "auto" || d == "cpu" || d == "gpu" {
		return -1, nil
	}
	text, found := strings.CutPrefix(string(d), "gpu:")
	number, err := strconv.Atoi(text)
	if !found || err != nil || number < 0 {
		return 0, usagef("--device %q: expected auto, cpu, gpu or gpu:N", string(d))
	}
	return number, nil
}

// matching returns the engine with the name that a run has recorded, whatever auto would select here:
// results repeat to the bit only on the same engine.
func (d device) matching(recorded string) (nn.Engine, error) {
	if !gpu.Named(recorded) {
		return nn.CPU{}, nil
	}
	number, err := d.number()
	if err != nil {
		return nil, err
	}
	e, err := openGPU(number)
	switch {
	case err != nil:
		return nil, fmt.Errorf("trained on the GPU %s: %w", recorded, err)
	case e.Name() != recorded:
		return nil, fmt.Errorf("trained on the GPU %s, found %s", recorded, e.Name())
	}
	return e, nil
}
