package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"credence/model"
	"credence/train"
)

// Verification is what the repetition of a run showed.
type Verification struct {
	Recorded, Repeated string // SHA-256 sums of the model files
	// Difference names the first difference, nil if the files are equal.
	Difference error
}

// DifferenceError says what was found to differ when a run was repeated: the
// data, the kernel, the version or the configuration.
type DifferenceError struct {
	Folder             Folder
	What               string
	Recorded, Repeated string
}

// Error says what differs.
func (e *DifferenceError) Error() string {
	return fmt.Sprintf("%s does not repeat: %s: recorded %s, found %s", e.Folder, e.What, e.Recorded, e.Repeated)
}

// Verify repeats a run in a temporary folder, with the options and the data that
// it had, and compares the two model files byte by byte. The run itself is left
// alone. Other data than those of the run are a [DifferenceError]: nothing is
// trained in vain. When ctx is canceled the error is train.ErrStopped.
func Verify(ctx context.Context, folder Folder, d *Partition, o Options) (*Verification, error) {
	recorded, err := Load(string(folder))
	if err != nil {
		return nil, err
	}
	if folder.Unfinished() {
		return nil, fmt.Errorf("%s: %w", folder, ErrUnfinished)
	}
	found, err := d.Learn.Hash()
	if err != nil {
		return nil, err
	}
	if want := recorded.Provenance.Data; found != want {
		return nil, &DifferenceError{folder, "data", "sha256 " + want, "sha256 " + found}
	}
	if err := sameStart(folder, recorded, o.Fit.From); err != nil {
		return nil, err
	}
	temporary, err := os.MkdirTemp("", "credence-verify-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temporary)
	again := Folder(filepath.Join(temporary, "run"))
	o.Mode = New
	if _, err := Train(ctx, again, d, o); errors.Is(err, train.ErrStopped) {
		return nil, fmt.Errorf("%w: nothing is proved", train.ErrStopped)
	} else if err != nil {
		return nil, err
	}
	return compare(folder, again, recorded)
}

// compare compares the model files of two runs.
func compare(folder, again Folder, recorded *model.Model) (*Verification, error) {
	v := &Verification{}
	var err error
	if v.Recorded, err = folder.sum(ModelFile); err != nil {
		return nil, err
	}
	if v.Repeated, err = again.sum(ModelFile); err != nil || v.Recorded == v.Repeated {
		return v, err
	}
	repeated, err := model.Load(again.Path(ModelFile))
	if err != nil {
		return nil, err
	}
	v.Difference = firstDifference(folder, recorded, repeated)
	return v, nil
}

// firstDifference returns an error that names it, and says whether the weights
// differ too if it is something else.
func firstDifference(folder Folder, a, b *model.Model) error {
	p, q := &a.Provenance, &b.Provenance
	weights := weightDifference(a, b)
	same := "; the weights are equal"
	if weights != nil {
		same = "; the weights differ too"
	}
	for _, c := range []struct{ what, recorded, repeated string }{
		{"data", p.Data, q.Data},
		{"kernel", p.Kernel, q.Kernel},
		{"version", p.Version, q.Version},
		{"configuration", string(p.Config), string(q.Config)},
	} {
		if c.recorded != c.repeated {
			return fmt.Errorf("%w%s", &DifferenceError{folder, c.what, c.recorded, c.repeated}, same)
		}
	}
	if weights != nil {
		return fmt.Errorf("%s does not repeat: %w", folder, weights)
	}
	return fmt.Errorf("%s does not repeat: the weights are equal, the record of training is not", folder)
}

// weightDifference describes the first weight in which models differ.
func weightDifference(a, b *model.Model) error {
	if len(a.Members) != len(b.Members) {
		return fmt.Errorf("networks: recorded %d, found %d", len(a.Members), len(b.Members))
	}
	for i := range a.Members {
		x := slices.Concat(a.Members[i].Params, a.Members[i].States)
		y := slices.Concat(b.Members[i].Params, b.Members[i].States)
		if len(x) != len(y) {
			return fmt.Errorf("network %d: recorded %d tensors, found %d", i, len(x), len(y))
		}
		for k := range x {
			if x[k].Name != y[k].Name || len(x[k].Value) != len(y[k].Value) {
				return fmt.Errorf("network %d: recorded tensor %s %v, found %s %v", i, x[k].Name, x[k].Shape, y[k].Name, y[k].Shape)
			}
			for at, v := range x[k].Value {
				if w := y[k].Value[at]; math.Float32bits(v) != math.Float32bits(w) {
					return fmt.Errorf("weights: network %d, %s[%d]: recorded %v, found %v", i, x[k].Name, at, v, w)
				}
			}
		}
	}
	return nil
}
