package calculator

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// number is a float64 whose infinities are strings in JSON.
type number float64

func (x number) MarshalJSON() ([]byte, error) {
	v := float64(x)
	switch {
	case math.IsNaN(v):
		return nil, errNaN
	case math.IsInf(v, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(v, -1):
		return []byte(`"-Infinity"`), nil
	}
	return json.Marshal(v)
}

func (x *number) UnmarshalJSON(raw []byte) error {
	if kind := kindOf(raw); kind != "a number" {
		return fmt.Errorf("found %s, expected a number", kind)
	}
	v, err := strconv.ParseFloat(string(raw), 64)
	if err != nil { // the syntax has been checked, so it is the range
		return fmt.Errorf("%.40s is beyond the range of float64", raw)
	}
	*x = number(v)
	return nil
}

// kindOf names the kind of a JSON value, which its first byte tells.
func kindOf(raw []byte) string {
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}
