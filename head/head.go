// Package head holds the methods: what a network's raw outputs mean, how they are scored against
// votes, and what they say of an item.
//
// A [Method] is a name with settings, such as [Mixture] or [Evidential]; its New makes a [Head], of
// which each network in training has its own. A head sees a whole [Batch] at a time and owns
// everything that depends on the method: the number of outputs, where a network starts, the loss,
// the criterion that stops training, tensors of its own, and decoding into an [Decoded]. Nobody else
// asks which method it is.
//
// [Mixture] is the method this library is about: a mixture of Dirichlet distributions of the class
// probabilities, scored by the exact likelihood of an item's votes. The others, each from its own
// paper, learn from one label at a time and attach an uncertainty to what they predict:
//
//	softmax     cross-entropy; several networks are a deep ensemble
//	            (Lakshminarayanan, Pritzel and Blundell 2017)
//	dropout     Monte Carlo dropout (Gal and Ghahramani 2016)
//	mve         mean-variance estimation (Nix and Weigend 1994)
//	qd          quality-driven intervals (Pearce et al. 2018)
//	confidence  confidence network (DeVries and Taylor 2018)
//	evidential  evidential classification (Sensoy, Kaplan and Kandemir 2018)
//
// An item with S_i votes for class i counts for these as that many examples with one label each.
// None of them gives the distribution of the class probabilities that the mixture gives; what each
// gives instead is what [Traits].Meaning says.
//
// A method of one's own is a type with the two methods of [Method], whose heads embed [DefaultHead] for
// what they do not need.
//
// Dimension letters of the package: N items, d classes, M members of an ensemble or passes through
// a network.
package head

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"credence/internal/words"
	"credence/nn"
)

// Task is what a method is asked to learn.
type Task struct {
	Classes int // d ≥ 2
	Raters  int // how many raters the votes name

	// RaterVotes [R] and ClassVotes [d] count the votes by rater and by class; nil means alike.
	RaterVotes, ClassVotes []float64
	// RaterGroups [R] is the group of raters connected by shared items that each rater belongs to, from 0;
	// nil if all belong to one. Leans are compared within a group only: their mean over the votes of each
	// group is 0.
	RaterGroups []int
}

// Objective scores raw outputs against votes.
type Objective interface {
	// Outputs returns how many raw outputs the head takes for an item.
	Outputs() int

	// Loss returns the loss of a batch and fills grad with the derivative of its mean with respect
	// to out, and the gradients of the head's own tensors. Items without votes get a zero gradient;
	// a batch without any votes has loss zero. With a nil grad only the loss is computed. Shapes:
	// grad, out [N, Outputs()].
	Loss(grad, out []float32, b Batch, at Step) Loss
}

// Head is a method at work. It may keep scratch memory, so one value serves one goroutine at a time,
// except that Outputs, Own, Traits and Decode may be called from any.
type Head interface {
	Objective

	// Traits says what the method needs of training and what its uncertainty is.
	Traits() Traits

	// Start returns biases [Outputs()] of a last layer such that an untrained network says of every
	// item about what is true of all, whose votes are b.
	Start(b Batch) []float32

	// Criterion returns an empty sum of the method's measure of held-out items, by which training
	// stops and settings are chosen; smaller is better.
	Criterion() Criterion

	// Own returns the tensors that the head trains beside the network's, for a network that is being
	// built: they are saved with it, and their gradients are filled by Loss. Bind tells where the
	// values and gradients of each lie.
	Own() []nn.HeadParam
	Bind(own []*nn.Param)

	// Decode fills dst [N] with what outputs, those of each member of an ensemble or of each pass
	// through a network, say of N items.
	Decode(dst []Decoded, outputs []Output)

	// State returns what the loss itself has adapted in training, for a checkpoint, or nil; SetState
	// puts it back.
	State() []float64
	SetState(state []float64) error
}

// Criterion adds up a measure over held-out items, batch by batch.
type Criterion interface {
	Add(out []float32, b Batch)
	Value() float64
}

// Output is what one network, or one pass through it, says of N items.
type Output struct {
	Raw []float32   // [N, Outputs()]
	Own [][]float32 // the values of the head's own tensors, in the order of Own
}

// Traits is what a method needs of training and what its uncertainty is. The zero value suits a
// method that learns from single votes and needs nothing special.
type Traits struct {
	// Joint says that the method learns from all votes of an item together: its answers have a Dist,
	// its loss is their negative log-likelihood in nats, and without two votes on some items it
	// learns nothing about spread.
	Joint bool
	// Passes is how often a network with dropout is sampled for an answer; 0 means that its outputs
	// without dropout are wanted.
	Passes int
	// Warmup is for how many epochs the loss leaves out a part of what the network learns. Weights
	// from them are not kept if there are later ones.
	Warmup int
	// Raters says that the loss reads Batch.Ratings.
	Raters bool
	// LeastBatch is the least number of items in a batch.
	LeastBatch int
	// Coarse says that the means are no fitted probabilities, so that no likelihood judges them.
	Coarse bool
	// Meaning says in a sentence or two what the uncertainty is; empty for a Joint method, whose
	// intervals speak for themselves.
	Meaning string
	// Columns are what a table of answers has beside the means, for so many networks.
	Columns func(members int) []Column
}

// Column is a column of a table of answers.
type Column struct {
	Name string
	Of   func(a *Decoded, class int) float64
}

// DefaultHead gives a head that embeds it no tensors of its own, no state and no special traits.
type DefaultHead struct{}

// Traits returns the zero value.
func (DefaultHead) Traits() Traits { return Traits{} }

// Own returns nil.
func (DefaultHead) Own() []nn.HeadParam { return nil }

// Bind does nothing.
func (DefaultHead) Bind([]*nn.Param) {}

// State returns nil.
func (DefaultHead) State() []float64 { return nil }

// SetState accepts an empty state.
func (DefaultHead) SetState(state []float64) error {
	if len(state) != 0 {
		return noState(state)
	}
	return nil
}

// noState is the error for a state that a loss cannot be in.
func noState(state []float64) error { return fmt.Errorf("the loss has no state like %v", state) }

// Step says where in a training run a loss is evaluated, for heads that draw random numbers or
// change over time.
type Step = nn.Step

// Batch is the votes on some items.
type Batch struct {
	Counts Counts
	// Weights [N] say how much items count; nil if all count alike.
	Weights []float64
	// Ratings are the single votes, where it is known who cast them.
	Ratings []Rating
}

// Rating is one vote on item Item of a batch.
type Rating struct {
	Item, Rater, Class int32
}

// Items returns the number of items N.
func (b Batch) Items() int { return b.Counts.Items() }

// weight returns how much item j counts.
func (b *Batch) weight(j int) float64 {
	if b.Weights == nil {
		return 1
	}
	return b.Weights[j]
}

// Loss is the mean loss of a batch and what it is the mean of.
type Loss struct {
	Mean  float64
	Over  float64 // items or votes that the mean is taken over
	Votes float64 // by the weights that the method gives them
}

// Counts holds the votes of N items on d classes, row by row:
// Values[j*Classes+i] is the number of votes of item j for class i. It is a
// float32, exact for whole counts up to 2²⁴; fractional counts (weighted
// votes) are allowed, negative ones are not.
type Counts struct {
	Classes int
	Values  []float32 // [N, Classes]
}

// Items returns the number of items N.
func (c Counts) Items() int { return len(c.Values) / c.Classes }

// Item returns the counts of item j.
func (c Counts) Item(j int) []float32 { return c.Values[j*c.Classes : (j+1)*c.Classes] }

// Votes returns the number of votes on all items.
func (c Counts) Votes() float64 {
	sum := 0.0
	for _, s := range c.Values {
		sum += float64(s)
	}
	return sum
}

// Method is a name with settings, from which heads are made. Its settings are the exported fields
// of a struct: numbers or strings with a JSON name, and the tags default and help. A field left zero
// means its default; one with the tag setting:"-" is recorded, but nothing that a user sets.
type Method interface {
	// Name is how files and the command line call the method.
	Name() string
	// New returns a head, or an error that says which setting is out of range.
	New(t Task) (Head, error)
}

// Methods are those of this package, the default first.
var Methods = []Method{Mixture{}, Softmax{}, Dropout{}, MVE{}, QD{}, Confidence{}, Evidential{}}

// Names returns the names of Methods.
func Names() []string { return words.Each(Methods, Method.Name) }

// MethodByName returns the method of that name with its default settings, among those given and Methods.
func MethodByName(name string, own ...Method) (Method, error) {
	known := slices.Concat(own, Methods)
	for _, m := range known {
		if m.Name() == name {
			return Complete(m), nil
		}
	}
	return nil, fmt.Errorf("method %q is not one of %q", name, words.Each(known, Method.Name))
}

// Setting describes a setting of a method.
type Setting struct {
	Name, Default, Help string

	value reflect.Value
}

// Settings returns those of a method.
func Settings(m Method) []Setting {
	_, list := settings(m)
	return list
}

// settings returns a copy of m that can be changed, and its settings, whose values are the fields of the copy.
func settings(m Method) (v reflect.Value, list []Setting) {
	v = reflect.New(reflect.TypeOf(m)).Elem()
	v.Set(reflect.ValueOf(m))
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		name, _, _ := strings.Cut(tag.Get("json"), ",")
		if name != "" && name != "-" && tag.Get("setting") != "-" {
			list = append(list, Setting{name, tag.Get("default"), tag.Get("help"), v.Field(i)})
		}
	}
	return v, list
}

// WithSetting returns m with the setting of that name given a value, as a user writes it.
func WithSetting(m Method, name, value string) (Method, error) {
	v, list := settings(m)
	if len(list) == 0 {
		return nil, fmt.Errorf("method %s has no settings, found %q", m.Name(), name)
	}
	for _, s := range list {
		if s.Name == name {
			err := s.set(value)
			return v.Interface().(Method), err
		}
	}
	names := words.Each(list, func(s Setting) string { return s.Name })
	return nil, fmt.Errorf("method %s has no setting %q, its settings are [%s]", m.Name(), name, strings.Join(names, " "))
}

// set changes the value.
func (s *Setting) set(value string) error {
	switch s.value.Kind() {
	case reflect.String:
		s.value.SetString(value)
	case reflect.Int:
		n, err := strconv.Atoi(value)
		if err != nil || n == 0 {
			return fmt.Errorf("setting %s is %q, want a whole number that is not 0", s.Name, value)
		}
		s.value.SetInt(int64(n))
	case reflect.Float64:
		x, err := strconv.ParseFloat(value, 64)
		if err != nil || !(x > 0) || math.IsInf(x, 0) {
			return fmt.Errorf("setting %s is %q, want a number above 0", s.Name, value)
		}
		s.value.SetFloat(x)
	}
	return nil
}

// SettingValue returns the value of the setting of that name as WithSetting takes it, empty if there is no such
// setting.
func SettingValue(m Method, name string) string {
	for _, s := range Settings(m) {
		switch {
		case s.Name != name:
		case s.value.Kind() == reflect.Float64:
			return strconv.FormatFloat(s.value.Float(), 'g', -1, 64)
		default:
			return fmt.Sprint(s.value.Interface())
		}
	}
	return ""
}

// Complete returns m with defaults where settings are zero.
func Complete(m Method) Method {
	v, list := settings(m)
	for _, s := range list {
		if !s.value.IsZero() || s.Default == "" {
			continue
		}
		if err := s.set(s.Default); err != nil {
			panic(fmt.Sprintf("method %s: default of %s: %v", m.Name(), s.Name, err))
		}
	}
	return v.Interface().(Method)
}

// Encode returns a method as JSON: an object with its name as "kind", and its settings.
func Encode(m Method) (json.RawMessage, error) {
	settings, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("method %s: %w", m.Name(), err)
	}
	kind, _ := json.Marshal(m.Name()) // every string has a JSON form
	if string(settings) == "{}" {
		return fmt.Appendf(nil, `{"kind":%s}`, kind), nil
	}
	return fmt.Appendf(nil, `{"kind":%s,%s`, kind, settings[1:]), nil
}

// Parse reads what [Encode] wrote, of the methods given and Methods.
func Parse(text []byte, own ...Method) (Method, error) {
	var kind struct{ Kind string }
	if err := json.Unmarshal(text, &kind); err != nil {
		return nil, fmt.Errorf("method: %w", err)
	}
	m, err := MethodByName(kind.Kind, own...)
	if err != nil {
		return nil, err
	}
	v, _ := settings(m)
	if err := json.Unmarshal(text, v.Addr().Interface()); err != nil {
		return nil, fmt.Errorf("method %s: %w", m.Name(), err)
	}
	return v.Interface().(Method), nil
}

// checked returns an error unless classes are enough and every number is finite and not negative,
// where a method does not allow -1 by negative.
func checked(m Method, t Task, negative ...string) error {
	bad := func(name string, found any, want string) error {
		return fmt.Errorf("method %s: %s %v, want %s", m.Name(), name, found, want)
	}
	if t.Classes < 2 {
		return bad("classes", t.Classes, "at least 2")
	}
	for _, s := range Settings(m) {
		switch f := s.value; {
		case f.Kind() == reflect.Float64 && !(f.Float() > 0 && !math.IsInf(f.Float(), 0)):
			return bad(s.Name, f.Float(), "more than 0")
		case f.Kind() == reflect.Int && f.Int() < 1 && !slices.Contains(negative, s.Name):
			return bad(s.Name, f.Int(), "at least 1")
		}
	}
	return nil
}
