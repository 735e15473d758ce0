package onnxruntime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
)

// The messages between a program and the worker that it starts, in this order: task, then outcome; order and result
// for every batch of items.
type (
	task struct {
		Library string
		Model   []byte
		Memory  int64 // bytes that the worker may allocate
		Threads int
	}
	outcome struct {
		Graph    Graph
		Err      string
		External bool // the error is ErrExternal
		Missing  bool // or ErrNoLibrary
	}
	order struct {
		Output string
		Items  [][]Tensor
	}
	result struct {
		Outputs []Tensor
		Err     string
	}
)

// messages sends and receives values. What encodes them is only part of builds that load libraries: it takes the start of a
// program a fifth of a millisecond.
type messages struct{ send, receive func(any) error }

// Worker is a graph that runs in a child process.
type Worker struct {
	graph  Graph
	cmd    *exec.Cmd
	in     io.WriteCloser
	pipe   messages
	stderr *tail
	mu     sync.Mutex // one batch at a time
	dead   error      // why there is no process any more
}

// Start starts the program at the path command[0] with the arguments that follow, which has to call [Serve], and opens the
// graph there. memory bounds the bytes
// that the child may allocate.
func Start(command []string, library string, model []byte, memory int64) (*Worker, error) {
	if _, _, err := load(""); errors.Is(err, ErrBuild) {
		return nil, err
	}
	library, err := find(library)
	if err != nil {
		return nil, err
	}
	if library == bareName { // which is no path that could be given
		library = ""
	}
	w := &Worker{stderr: &tail{}}
	w.cmd = &exec.Cmd{Path: command[0], Args: append(os.Args[:1:1], command[1:]...), Stderr: w.stderr}
	w.in, err = w.cmd.StdinPipe()
	var out io.ReadCloser
	if err == nil {
		out, err = w.cmd.StdoutPipe()
	}
	if err == nil {
		err = w.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("starting the process that runs ONNX Runtime: %w", err)
	}
	w.pipe = newMessages(out, w.in)
	var o outcome
	err = w.exchange(context.Background(), task{library, model, memory, runtime.GOMAXPROCS(0)}, &o)
	switch {
	case err != nil:
	case o.External:
		err = ErrExternal
	case o.Missing:
		err = &missing{o.Err}
	case o.Err != "":
		err = errors.New(o.Err)
	}
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	w.graph = o.Graph
	// A worker that nobody refers to any more ends, as that of a model which a server has replaced.
	runtime.AddCleanup(w, func(cmd *exec.Cmd) { go end(cmd) }, w.cmd)
	return w, nil
}

// Graph returns the inputs and outputs.
func (w *Worker) Graph() Graph { return w.graph }

// Run implements [Runner].
func (w *Worker) Run(ctx context.Context, output string, items [][]Tensor) ([]Tensor, error) {
	var r result
	if err := w.exchange(ctx, order{output, items}, &r); err != nil {
		return nil, err
	}
	if r.Err != "" {
		return nil, errors.New(r.Err)
	}
	if len(r.Outputs) != len(items) {
		return nil, fmt.Errorf("expected %d outputs, found %d", len(items), len(r.Outputs))
	}
	for _, t := range r.Outputs {
		if n := elements(t.Shape); n < 1 || int64(len(t.Data)) != 4*n {
			return nil, fmt.Errorf("output %q: expected float32 of shape %v, found %d bytes", output, t.Shape, len(t.Data))
		}
	}
	return r.Outputs, nil
}

// exchange sends a message and receives the reply. A child that does not reply, or whose caller is canceled, is ended.
func (w *Worker) exchange(ctx context.Context, message, reply any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead != nil {
		return w.dead
	}
	stop := context.AfterFunc(ctx, func() { _ = w.cmd.Process.Kill() })
	err := w.pipe.send(message)
	if err == nil {
		err = w.pipe.receive(reply)
	}
	stop()
	if err == nil {
		return nil
	}
	w.in.Close()
	_ = w.cmd.Process.Kill()
	ended := w.cmd.Wait()
	if w.dead = ctx.Err(); w.dead == nil {
		w.dead = fmt.Errorf("the process that runs ONNX Runtime has ended: %v%s", ended, w.stderr.line())
	}
	return w.dead
}

// Close ends the child.
func (w *Worker) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead != nil {
		return nil
	}
	w.dead = errors.New("the backbone is closed")
	end(w.cmd) // it has nothing to finish
	return nil
}

// missing is ErrNoLibrary with the text that a child has sent.
type missing struct{ text string }

func (e *missing) Error() string { return e.text }
func (e *missing) Unwrap() error { return ErrNoLibrary }

// end ends a child.
func end(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// tail keeps the first bytes of the messages of a child.
type tail struct{ bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	if room := 4096 - t.Len(); room > 0 {
		t.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// line returns the first line, to be appended to an error.
func (t *tail) line() string {
	text, _, _ := strings.Cut(strings.TrimSpace(t.String()), "\n")
	if text == "" {
		return ""
	}
	return ": " + text
}

// Serve does the work of a child of [Start]: it reads a graph and items from r and writes outputs to w, until r ends.
func Serve(r io.Reader, w io.Writer) error {
	pipe := newMessages(r, w)
	var t task
	if err := pipe.receive(&t); err != nil {
		return err
	}
	runtime.GOMAXPROCS(max(1, t.Threads))
	if err := errors.Join(limitMemory(t.Memory), leaveFolder()); err != nil {
		return err
	}
	s, err := Open(t.Library, t.Model)
	if err != nil {
		return pipe.send(outcome{Err: err.Error(), External: errors.Is(err, ErrExternal), Missing: errors.Is(err, ErrNoLibrary)})
	}
	defer s.Close()
	if err := pipe.send(outcome{Graph: s.Graph()}); err != nil {
		return err
	}
	for {
		var o order
		if err := pipe.receive(&o); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		var r result
		if r.Outputs, err = s.Run(context.Background(), o.Output, o.Items); err != nil {
			r.Err = err.Error()
		}
		if err := pipe.send(r); err != nil {
			return err
		}
	}
}

// leaveFolder changes to a folder that no longer exists, so that a graph cannot name files as its weights.
func leaveFolder() error {
	dir, err := os.MkdirTemp("", "credence-onnx-")
	if err != nil {
		return err
	}
	return errors.Join(os.Chdir(dir), os.Remove(dir))
}
