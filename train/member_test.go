package train

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"credence/dataset"
	"credence/head"
	"credence/internal/safetensors"
)

// members trains all members of a fit, each stopped repeatedly, and returns their results as
// read back from files.
func members(t *testing.T, ds *dataset.Dataset, o Options) []*MemberResult {
	t.Helper()
	var parts []*MemberResult
	for i := range o.Ensemble {
		dir := t.TempDir()
		o := o
		o.Checkpoint, o.Resume = filepath.Join(dir, "checkpoint"), true
		var part *MemberResult
		for epochs := 1; part == nil; epochs++ {
			ctx, cancel := context.WithCancel(context.Background())
			o.Progress = func(e Event) {
				if e.Epoch >= epochs && e.Epochs > 0 {
					cancel()
				}
			}
			var err error
			part, _, err = FitMember(ctx, ds, o, i)
			cancel()
			if err != nil && !errors.Is(err, ErrStopped) {
				t.Fatal(err)
			}
		}
		path := filepath.Join(dir, "part")
		if err := part.Write(path); err != nil {
			t.Fatal(err)
		}
		part, err := ReadMemberResult(path)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part)
	}
	return parts
}

// TestMembers: members that were trained apart, and stopped in between, make the model of one fit,
// for methods that hold out folds, that are sampled, that hold out the same items, or that
// choose epochs by folds.
func TestMembers(t *testing.T) {
	ds := simulated(120, 5, 1)
	held := []int{3, 8, 11, 20, 33, 40, 41, 57, 60, 77, 81, 90, 99, 110}
	for name, o := range map[string]Options{
		"mixture":  {Ensemble: 3, Epochs: 4},
		"single":   {Ensemble: 1, Epochs: 4},
		"held":     {Ensemble: 2, Epochs: 4, Held: held},
		"patience": {Ensemble: 2, Epochs: 3, Patience: -1},
		"dropout":  {Ensemble: 6, Epochs: 2, Head: head.Dropout{Passes: 3}, Held: held},
	} {
		o.Seed, o.Widths, o.Version = 7, []int{8}, "test"
		want, err := Fit(t.Context(), ds, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Members = members(t, ds, o)
		o.Progress = func(e Event) {
			if e.Epochs > 0 {
				t.Errorf("%s: %s is trained again", name, e.Run)
			}
		}
		got, err := Fit(t.Context(), ds, o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		a, _ := want.Model.Hash()
		b, err := got.Model.Hash()
		if err != nil || a != b {
			t.Errorf("%s: joined, the model is another one (%v)", name, err)
		}
	}
}

// TestMembersRaters: whether to model raters is decided by all members together, whichever of them have
// trained networks with raters.
func TestMembersRaters(t *testing.T) {
	ds := rated(150, []float64{-2, -1, 0, 1, 2}, 3)
	o := Options{Ensemble: 2, Epochs: 4, Seed: 7, Widths: []int{8}, NoReferences: true}
	want := fitted(t, ds, o)
	if !want.Model.Provenance.Raters.Known {
		t.Fatalf("raters do not matter: %+v", want.Model.Provenance.Raters)
	}
	o.Members = members(t, ds, o)
	for range 2 {
		got := fitted(t, ds, o)
		a, _ := want.Model.Hash()
		if b, err := got.Model.Hash(); err != nil || a != b {
			t.Errorf("joined, the model is another one (%v)", err)
		}
		if o.Members[1].runs["raters member 1"] == nil {
			break
		}
		delete(o.Members[1].runs, "raters member 1") // as if its votes had not suggested it
	}
	if o.Members[0].runs["raters member 0"] == nil {
		t.Error("the first member has no network that knows raters")
	}
}

// TestParts: results that do not belong to a fit are errors.
func TestParts(t *testing.T) {
	ds := simulated(60, 5, 1)
	o := Options{Ensemble: 2, Epochs: 1, Seed: 7, Widths: []int{4}, Version: "test"}
	parts := members(t, ds, o)
	for want, change := range map[string]func(o *Options){
		"seed is 8, then 7":                   func(o *Options) { o.Seed = 8 },
		"expected an ensemble of 3":           func(o *Options) { o.Ensemble = 3 },
		"trained by version test of credence": func(o *Options) { o.Version = "later" },
		"is also in another member result":    func(o *Options) { o.Members = append(o.Members, o.Members[0]) },
	} {
		o := o
		o.Members = parts
		change(&o)
		if _, err := Fit(t.Context(), ds, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	o.Members = parts
	if _, err := Fit(t.Context(), simulated(61, 5, 1), o); !errors.Is(err, ErrOtherRun) || !strings.Contains(err.Error(), "data differ") {
		t.Errorf("other data: %v", err)
	}
	if p, _, err := FitMember(t.Context(), ds, o, 1); err != nil || p != parts[1] {
		t.Errorf("a member that is there: %v", err)
	}
	if _, _, err := FitMember(t.Context(), ds, o, 2); err == nil {
		t.Error("the third of two members is trained")
	}
	delete(parts[0].runs["member 0"].tensors, "held.0")
	if _, err := Fit(t.Context(), ds, o); err == nil || !strings.Contains(err.Error(), `member 0: tensor "held.0" of its result is missing`) {
		t.Errorf("a tensor that is missing: %v", err)
	}
}

func FuzzReadPart(f *testing.F) {
	ds := simulated(60, 5, 1)
	p, _, err := FitMember(f.Context(), ds, Options{Ensemble: 2, Epochs: 1, Widths: []int{2}}, 0)
	if err != nil {
		f.Fatal(err)
	}
	path := filepath.Join(f.TempDir(), "part")
	if err := p.Write(path); err != nil {
		f.Fatal(err)
	}
	file, err := safetensors.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	m := file.Metadata
	f.Add(m["member"], m["members"], m["fingerprint"], m["runs"])
	f.Add("0", "1000000000", "{}", "[null]")
	f.Add("-1", "1", "", `[{"name":"x"}]`)
	f.Fuzz(func(t *testing.T, member, members, mark, runs string) {
		file.Metadata = map[string]string{"format": memberFormat, "format_version": memberVersion,
			"member": member, "members": members, "fingerprint": mark, "runs": runs}
		path := filepath.Join(t.TempDir(), "part")
		w, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := safetensors.Write(w, file); err != nil {
			w.Close()
			return
		}
		w.Close()
		p, err := ReadMemberResult(path)
		if err != nil {
			return
		}
		fit, err := newFitting(t.Context(), ds, Options{Ensemble: 2, Epochs: 1, Widths: []int{2}})
		if err != nil {
			t.Fatal(err)
		}
		fit.o.Members = []*MemberResult{p}
		if fit.takeMembers() != nil {
			return
		}
		for _, r := range fit.plan() {
			if p.runs[r.name] != nil {
				_ = fit.train(t.Context(), []*run{r}) // refused or taken, and never a panic
			}
		}
	})
}
