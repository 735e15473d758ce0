package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"credence/internal/atomicfile"
	"credence/internal/safetensors"
)

// ErrResume is the error when a run cannot be continued: its checkpoint
// belongs to other data, another configuration or another instruction set.
var ErrResume = errors.New("the checkpoint belongs to another run")

// fingerprint identifies what must be the same for a run to continue.
type fingerprint struct {
	Data   string          `json:"data"`
	Kernel string          `json:"kernel"`
	Config json.RawMessage `json:"config"`
}

// Format and version of a checkpoint.
const (
	checkpointFormat  = "credence-checkpoint"
	checkpointVersion = "1"
)

// path returns the path of the run's checkpoint.
func (r *run) path() string {
	return filepath.Join(r.o.Checkpoint, strings.ReplaceAll(r.name, " ", "-")+checkpointSuffix)
}

// save writes the run's state, if checkpoints are enabled.
func (r *run) save() error {
	if r.o.Checkpoint == "" {
		return nil
	}
	f, err := r.checkpoint()
	if err == nil {
		err = atomicfile.MkdirAll(r.o.Checkpoint)
	}
	if err != nil {
		return fmt.Errorf("writing a checkpoint: %w", err)
	}
	r.saved = time.Now()
	return atomicfile.Write(r.path(), func(w io.Writer) error { return safetensors.Write(w, f) })
}

// checkpoint returns the content of the run's checkpoint.
func (r *run) checkpoint() (*safetensors.File, error) {
	if err := r.stepper.Trainer.Pull(); err != nil {
		return nil, err
	}
	r.countClamped()
	r.state.Head = r.head.State()
	if r.cross != nil {
		r.state.Cross = r.cross.best
	}
	f := &safetensors.File{Metadata: map[string]string{"format": checkpointFormat, "format_version": checkpointVersion}}
	for key, v := range map[string]any{
		"fingerprint": r.mark, "state": r.state, "optimizer_steps": r.stepper.Trainer.State().Steps,
	} {
		text, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		f.Metadata[key] = string(text)
	}
	f.Tensors = r.tensors()
	return f, nil
}

// vector returns a tensor of one dimension.
func vector(name string, values []float32) safetensors.Tensor {
	return safetensors.Tensor{Name: name, Shape: []int{len(values)}, Values: values}
}

// fill copies vectors of a file into those of a run. It returns the name of the first vector that is missing or
// has another size, or "".
func fill(list []safetensors.Tensor, from map[string]*safetensors.Tensor) string {
	for _, v := range list {
		t := from[v.Name]
		if t == nil || len(t.Values) != len(v.Values) {
			return v.Name
		}
		copy(v.Values, t.Values)
	}
	return ""
}

// tensors returns the vectors that a checkpoint contains. They share memory with the run.
func (r *run) tensors() []safetensors.Tensor {
	var list, moments []safetensors.Tensor
	for i, p := range r.parameters() {
		list = append(list, p, vector("best."+p.Name, r.best[i]))
	}
	for i, m := range r.stepper.Trainer.State().Moments {
		if m != nil {
			moments = append(moments, vector(fmt.Sprintf("moments.%d", i), m))
		}
	}
	list = slices.Insert(list, 2, moments...)
	if r.cross != nil {
		list = append(list, vector("cross", r.cross.kept))
	}
	return list
}

// resume continues from the run's checkpoint. Without one the run starts from the beginning.
func (r *run) resume() error {
	f, err := safetensors.ReadFile(r.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("resuming: %w", err)
	}
	if err := r.restore(f); err != nil {
		return fmt.Errorf("resuming from %s: %w", r.path(), err)
	}
	return nil
}

// restore sets the run to its state at a checkpoint.
func (r *run) restore(f *safetensors.File) error {
	if f.Metadata["format"] != checkpointFormat {
		return errors.New("expected a checkpoint, found another kind of file")
	}
	if v := f.Metadata["format_version"]; v != checkpointVersion {
		return fmt.Errorf("expected checkpoint version %s, found %s", checkpointVersion, v)
	}
	var mark fingerprint
	if err := json.Unmarshal([]byte(f.Metadata["fingerprint"]), &mark); err != nil {
		return err
	}
	if err := r.mark.compare(mark, ErrResume); err != nil {
		return err
	}
	r.state = state{}
	if err := json.Unmarshal([]byte(f.Metadata["state"]), &r.state); err != nil {
		return err
	}
	if err := r.head.SetState(r.state.Head); err != nil {
		return err
	}
	r.cross.setBest(r.state.Cross)
	if err := r.newStepper(); err != nil { // at the state's share of the rate
		return err
	}
	if err := json.Unmarshal([]byte(f.Metadata["optimizer_steps"]), &r.stepper.Trainer.State().Steps); err != nil {
		return err
	}
	if name := fill(r.tensors(), f.ByName()); name != "" {
		return fmt.Errorf("tensor %q is missing or of another size", name)
	}
	return r.stepper.Trainer.Push()
}

// compare returns an error that wraps what and describes how a fingerprint differs from the run's own.
func (f *fingerprint) compare(old fingerprint, what error) error {
	switch {
	case f.Data != old.Data:
		return fmt.Errorf("%w: the data differ (SHA-256 %.12s…, then %.12s…)", what, f.Data, old.Data)
	case f.Kernel != old.Kernel && !onGPU(f.Kernel) && !onGPU(old.Kernel):
		return fmt.Errorf("%w: the instruction set is %s, then %s; set CREDENCE_KERNEL=%s", what, f.Kernel, old.Kernel, old.Kernel)
	case !bytes.Equal(f.Config, old.Config):
		return fmt.Errorf("%w: the configuration differs: %s", what, difference(f.Config, old.Config))
	}
	return nil
}

// onGPU reports whether an engine's name is that of a GPU. A run may move between GPU and CPU; its
// result then differs by rounding from that of a run that does not.
func onGPU(engine string) bool { return strings.HasPrefix(engine, "cuda ") }

// difference describes the keys in which two configurations differ.
func difference(now, then json.RawMessage) string {
	var a, b map[string]json.RawMessage
	if json.Unmarshal(now, &a) != nil || json.Unmarshal(then, &b) != nil {
		return "unreadable"
	}
	all := map[string]json.RawMessage{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	var list []string
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if !bytes.Equal(a[k], b[k]) {
			list = append(list, fmt.Sprintf("%s is %s, then %s", k, value(a[k]), value(b[k])))
		}
	}
	return strings.Join(list, "; ")
}

func value(v json.RawMessage) string {
	switch {
	case v == nil:
		return "not set"
	case len(v) > 60:
		return string(v[:60]) + "…"
	}
	return string(v)
}

// checkpointSuffix is the suffix of the names of checkpoint files.
const checkpointSuffix = ".checkpoint"

// CleanCheckpoint removes temporary files of a killed process from a folder of
// checkpoints, and the folder if it is empty then.
func CleanCheckpoint(folder string) error {
	if err := atomicfile.Clean(folder, "*"+checkpointSuffix); err != nil {
		return err
	}
	entries, err := os.ReadDir(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil || len(entries) > 0:
		return err
	}
	return os.Remove(folder)
}

// RemoveCheckpoint removes the checkpoints of a fit from a folder, and the folder if
// it is empty then.
func RemoveCheckpoint(folder string) error {
	names, _ := fs.Glob(os.DirFS(folder), "*"+checkpointSuffix) // CleanCheckpoint reports a folder that cannot be read
	for _, name := range names {
		if err := os.Remove(filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	return CleanCheckpoint(folder)
}

// parameters returns the parameters and states of the run's network. They share memory with it.
func (r *run) parameters() []safetensors.Tensor {
	list := []safetensors.Tensor{vector("values", r.network.Values)}
	for _, p := range r.network.States {
		list = append(list, vector("states."+p.Name, p.Value))
	}
	return list
}

// keepBest copies the parameters, which are the best so far.
func (r *run) keepBest() {
	for i, p := range r.parameters() {
		r.best[i] = append(r.best[i][:0], p.Values...)
	}
}

// restoreBest sets the parameters to the best so far.
func (r *run) restoreBest() {
	for i, p := range r.parameters() {
		copy(p.Values, r.best[i])
	}
}
