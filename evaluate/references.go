package evaluate

import "fmt"

// References are the simple predictions that a model's scores are set beside,
// fitted to the votes that the model was trained on. They are stored in the
// model as JSON.
type References struct {
	Constant          Constant          `json:"constant"`
	ConstantDirichlet ConstantDirichlet `json:"constant_dm"`
	// Logistic is nil if the model has no features a logistic regression could
	// use.
	Logistic *Logistic `json:"logistic,omitempty"`
}

// FitReferences fits the references to the training votes. A nil x leaves out
// the logistic regression; groups (nil: every item is its own) keep together
// what must not be split when its penalty is chosen.
func FitReferences(x *Features, votes Votes, groups []int, seed uint64) (*References, error) {
	if err := votes.check(); err != nil {
		return nil, err
	}
	r := &References{Constant: FitConstant(votes), ConstantDirichlet: FitConstantDirichlet(votes)}
	if x == nil {
		return r, nil
	}
	var err error
	if r.Logistic, err = FitLogistic(*x, votes, groups, seed); err != nil {
		return nil, fmt.Errorf("logistic reference: %w", err)
	}
	return r, nil
}

// ReferenceLosses are the losses of every item under the references; those of
// the logistic regression are nil if there is none.
type ReferenceLosses struct {
	Constant, ConstantDirichlet, Logistic, LogisticDirichlet []float64
}

// Losses scores votes under the references. Without features (x nil) the
// logistic regression is left out.
func (r *References) Losses(x *Features, votes Votes) (l ReferenceLosses, err error) {
	if err := votes.check(); err != nil {
		return l, err
	}
	if n := len(r.Constant.Probabilities); n != votes.Classes || len(r.ConstantDirichlet.Alpha) != n {
		return l, fmt.Errorf("references of %d classes, but votes on %d", n, votes.Classes)
	}
	l.Constant, l.ConstantDirichlet = r.Constant.Losses(votes), r.ConstantDirichlet.Losses(votes)
	if r.Logistic == nil || x == nil {
		return l, nil
	}
	if l.Logistic, err = r.Logistic.Losses(*x, votes); err != nil {
		return l, err
	}
	l.LogisticDirichlet, err = r.Logistic.DirichletLosses(*x, votes)
	return l, err
}
