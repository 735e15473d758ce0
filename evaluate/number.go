package evaluate

import (
	"bytes"
	"encoding/json"
	"math"
)

// Number is a float64 whose JSON is null where it is not finite: a quantity
// that could not be computed.
type Number float64

// MarshalJSON writes the number, or null.
func (x Number) MarshalJSON() ([]byte, error) {
	f := float64(x)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(f)
}

// UnmarshalJSON reads a number; null is NaN.
func (x *Number) UnmarshalJSON(b []byte) error {
	if bytes.Equal(b, []byte("null")) {
		*x = Number(math.NaN())
		return nil
	}
	return json.Unmarshal(b, (*float64)(x))
}

// Known reports whether the number could be computed.
func (x Number) Known() bool {
	return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0)
}

var unknown = Number(math.NaN())

// Estimate is a number with its standard error. The JSON of a [Result] has no
// objects of this type, but two keys: that of the field, and the same with _se.
type Estimate struct {
	Value Number `json:"value"`
	SE    Number `json:"se"`
}

// IntervalEstimate is an estimate with the ends of its 95% interval, which a
// [Result] has under the keys with _lo and _hi.
type IntervalEstimate struct {
	Estimate
	Lo Number `json:"lo"`
	Hi Number `json:"hi"`
}

// unknownInterval is an estimate that could not be computed.
var unknownInterval = IntervalEstimate{Estimate{unknown, unknown}, unknown, unknown}
