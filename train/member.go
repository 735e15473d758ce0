package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"credence/dataset"
	"credence/head"
	"credence/internal/atomicfile"
	"credence/internal/safetensors"
	"credence/model"
)

// FitMember trains the networks of one member, from 0, of the ensemble that [Fit] would train. A fit with
// the results of all members in Options.Members then joins them into the same model that one process would
// have trained. If Options.Members has the member already, it is checked and returned. The options returned
// are the complete options of the fit.
//
// Whether to model raters is decided with all members available. Where the votes that this member holds out
// suggest it, its network with raters is trained as well; otherwise that is left to the fit that joins.
//
// When ctx is canceled, the error is ErrStopped, and checkpoints remain to resume from.
func FitMember(ctx context.Context, ds *dataset.Dataset, o Options, member int) (*MemberResult, Options, error) {
	f, err := begin(ctx, ds, o)
	if err != nil {
		return nil, o, err
	}
	if member < 0 || member >= f.o.Ensemble {
		return nil, o, fmt.Errorf("training options: member %d: expected 0 to %d", member, f.o.Ensemble-1)
	}
	for _, p := range f.o.Members {
		if p.Member == member {
			return p, f.o, nil
		}
	}
	if err := f.openCheckpoints(); err != nil {
		return nil, o, err
	}
	result, err := f.member(ctx, member)
	return result, f.o, err
}

// member trains one member without raters and, if they may help, with them.
func (f *fitting) member(ctx context.Context, member int) (*MemberResult, error) {
	runs, err := f.alone(ctx, member)
	if err != nil {
		return nil, err
	}
	if f.o.Raters == "auto" && f.declined.Kind == "" {
		likely, err := f.suggestRaters(runs)
		if err != nil {
			return nil, err
		}
		if likely {
			g, err := f.withRaters()
			if err != nil {
				return nil, err
			}
			rated, err := g.alone(ctx, member)
			if err != nil {
				return nil, err
			}
			runs = append(runs, rated...)
		}
	}
	return f.newMemberResult(member, runs), nil
}

// alone trains the runs of one member. A single network is chosen by folds, which belong to it.
func (f *fitting) alone(ctx context.Context, member int) ([]*run, error) {
	runs := f.plan()
	if !f.refits() {
		runs = runs[member : member+1]
	}
	final, err := f.networks(ctx, runs)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%w: %s", ErrStopped, f.progress(runs))
	}
	if f.refits() {
		runs = append(runs, final...)
	}
	return runs, nil
}

// suggestRaters reports whether the votes that some networks hold out suggest modelling raters: each half is
// predicted by raters' parameters fitted to the other. It only saves time: [fitting.decide] decides.
func (f *fitting) suggestRaters(runs []*run) (bool, error) {
	res := &Result{OutOfFold: make([]*head.Decoded, f.ds.Len())}
	if err := f.outOfFold(res, runs); err != nil {
		return false, err
	}
	half, turn := make([]int, len(f.voted)), 0
	for at, j := range f.voted {
		if res.OutOfFold[j] != nil {
			half[at] = turn % 2
			turn++
		}
	}
	if turn < 4 {
		return false, nil
	}
	gain, _, err := f.survey(res, func(at int) int { return half[at] })
	return gain > 0, err
}

// ErrOtherRun is the error when a member result cannot be joined: it belongs to other data, another
// configuration, another instruction set or another version.
var ErrOtherRun = errors.New("the member belongs to another run")

// MemberResult is the result of training one member of an ensemble in a separate process: its networks, their
// outputs for the items they held out, and how training went. It depends only on the data, the
// configuration and the member.
type MemberResult struct {
	Member, Members int
	// Version is the version of the program that trained it.
	Version string
	// ConfigSum is the SHA-256 of the configuration file next to it, in hexadecimal; "" in files of earlier builds.
	ConfigSum string
	// Path is the file that it was read from.
	Path string

	fingerprint // data, configuration and instruction set of the training
	runs        map[string]*trainedRun
}

// trainedRun is a run that has ended.
type trainedRun struct {
	Name   string `json:"name"`
	State  state  `json:"state"`
	Passes int    `json:"passes"`           // number of outputs for held-out items
	Forest bool   `json:"forest,omitempty"` // whether it has trees

	tensors map[string]*safetensors.Tensor
}

// Format and version of the file of a member result.
const (
	memberFormat  = "credence-part"
	memberVersion = "1"
)

// Matches returns an ErrOtherRun that describes how a member result differs from this one, if they cannot belong
// to one run.
func (p *MemberResult) Matches(q *MemberResult) error { return p.like(q, p.Version) }

// Fingerprint returns an ErrOtherRun if a model with this provenance cannot have been joined from the result.
func (p *MemberResult) Fingerprint(m *model.Provenance) error {
	mark := fingerprint{Data: m.Data, Kernel: m.Kernel, Config: m.Config}
	return mark.like(p, m.Version)
}

// like returns an ErrOtherRun if a member result belongs to another fit.
func (f *fingerprint) like(p *MemberResult, version string) error {
	if err := f.compare(p.fingerprint, ErrOtherRun); err != nil {
		return err
	}
	if p.Version != version {
		return fmt.Errorf("%w: trained by version %s of credence, the others by %s", ErrOtherRun, p.Version, version)
	}
	return nil
}

// newMemberResult returns the result of a member from its runs, which have ended.
func (f *fitting) newMemberResult(member int, runs []*run) *MemberResult {
	p := &MemberResult{Member: member, Members: f.o.Ensemble, Version: f.o.Version, fingerprint: f.mark}
	p.runs = map[string]*trainedRun{}
	for _, r := range runs {
		t := &trainedRun{Name: r.name, State: r.state, Passes: len(r.heldOutputs), Forest: r.forest != nil, tensors: map[string]*safetensors.Tensor{}}
		if r.cross != nil {
			t.State.Cross = r.cross.best
		}
		for _, v := range slices.Concat(r.trained(), r.forest.trained()) {
			t.tensors[v.Name] = &v
		}
		p.runs[r.name] = t
	}
	return p
}

// trained returns the vectors of a run that has ended. They share memory with the run.
func (r *run) trained() []safetensors.Tensor {
	list := r.parameters()
	if r.cross != nil {
		list = append(list, vector("cross", r.cross.kept))
	}
	for k, s := range r.heldOutputs {
		list = append(list, vector(fmt.Sprintf("held.%d", k), s.Raw))
	}
	return list
}

// take sets the run to the result of a run that another process has trained.
func (r *run) take(t *trainedRun) error {
	if r.state = t.State; !r.state.Done {
		return errors.New("its result is unfinished")
	}
	passes := max(1, r.traits.Passes)
	if len(r.held) == 0 {
		passes = 0
	}
	if t.Passes != passes {
		return fmt.Errorf("expected %d outputs for held-out items in its result, found %d", passes, t.Passes)
	}
	own := ownValues(r.network)
	for range passes {
		r.heldOutputs = append(r.heldOutputs, head.Output{Raw: make([]float32, len(r.held)*r.head.Outputs()), Own: own})
	}
	if name := fill(r.trained(), t.tensors); name != "" {
		return fmt.Errorf("tensor %q of its result is missing or of another size", name)
	}
	if t.Forest != (r.grove != nil) {
		return errors.New("expected trees as in the other members")
	}
	if t.Forest {
		var err error
		if r.forest, err = r.takeForest(t); err != nil {
			return err
		}
	}
	r.cross.setBest(t.State.Cross)
	r.outlook.update(r.place, prospect{done: float64(r.state.Epoch), ended: true})
	return nil
}

// takeMembers collects the runs of other processes. It returns an error for results of another fit.
func (f *fitting) takeMembers() error {
	f.trainedRuns = map[string]*trainedRun{}
	if len(f.o.Members) > 0 && onGPU(f.o.Members[0].Kernel) {
		f.mark.Kernel = f.o.Members[0].Kernel // of the processes that trained, not of the one that joins
	}
	for _, p := range f.o.Members {
		if p.Members != f.o.Ensemble {
			return fmt.Errorf("%s: %w: member %d of %d, expected an ensemble of %d", p.Path, ErrOtherRun, p.Member, p.Members, f.o.Ensemble)
		}
		if err := f.mark.like(p, f.o.Version); err != nil {
			return fmt.Errorf("%s: %w", p.Path, err)
		}
		for name, t := range p.runs {
			if f.trainedRuns[name] != nil {
				return fmt.Errorf("%s: %q is also in another member result", p.Path, name)
			}
			f.trainedRuns[name] = t
		}
	}
	return nil
}

// Write writes the result to a file.
func (p *MemberResult) Write(path string) error {
	mark, err := json.Marshal(p.fingerprint)
	if err != nil {
		return err
	}
	var runs []*trainedRun
	f := &safetensors.File{}
	for _, name := range slices.Sorted(maps.Keys(p.runs)) {
		t := p.runs[name]
		runs = append(runs, t)
		for _, key := range slices.Sorted(maps.Keys(t.tensors)) {
			v := *t.tensors[key]
			v.Name = name + "/" + key
			f.Tensors = append(f.Tensors, v)
		}
	}
	list, err := json.Marshal(runs)
	if err != nil {
		return err
	}
	f.Metadata = map[string]string{
		"format": memberFormat, "format_version": memberVersion, "version": p.Version,
		"member": fmt.Sprint(p.Member), "members": fmt.Sprint(p.Members),
		"fingerprint": string(mark), "runs": string(list), "config_sha256": p.ConfigSum,
	}
	return atomicfile.Write(path, func(w io.Writer) error { return safetensors.Write(w, f) })
}

// ReadMemberResult reads a member result that [MemberResult.Write] wrote.
func ReadMemberResult(path string) (*MemberResult, error) {
	f, err := safetensors.ReadFile(path)
	if err != nil {
		return nil, err
	}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("reading %s: %w", path, fmt.Errorf(format, args...))
	}
	m := f.Metadata
	if m["format"] != memberFormat {
		return nil, bad("expected the result of a member, found another kind of file")
	}
	if v := m["format_version"]; v != memberVersion {
		return nil, bad("expected version %s, found %s", memberVersion, v)
	}
	p := &MemberResult{Path: path, Version: m["version"], ConfigSum: m["config_sha256"], runs: map[string]*trainedRun{}}
	var runs []*trainedRun
	for _, e := range []struct {
		text string
		to   any
	}{{m["member"], &p.Member}, {m["members"], &p.Members}, {m["fingerprint"], &p.fingerprint}, {m["runs"], &runs}} {
		if err := json.Unmarshal([]byte(e.text), e.to); err != nil {
			return nil, bad("%w", err)
		}
	}
	if p.Members < 1 || p.Members > mostMembers || p.Member < 0 || p.Member >= p.Members {
		return nil, bad("invalid member %d of %d", p.Member, p.Members)
	}
	for _, t := range runs {
		if t == nil {
			return nil, bad("a run is null")
		}
		t.tensors = map[string]*safetensors.Tensor{}
		p.runs[t.Name] = t
	}
	for _, t := range f.Tensors {
		name, key, _ := strings.Cut(t.Name, "/")
		if r := p.runs[name]; r != nil {
			r.tensors[key] = &t
		}
	}
	return p, nil
}
