package train

import (
	"cmp"
	"encoding/json"

	"credence/head"
)

// record is the JSON form of Options: without the methods of Options, and with the encoded head.
type record struct {
	Head json.RawMessage `json:"head,omitempty"`
	*plainOptions
}

type plainOptions Options

// off is the value of Trees and Transform.Scores that a record leaves out, since those of earlier builds have neither.
const off = "off"

// MarshalJSON returns the record of the options.
func (o Options) MarshalJSON() ([]byte, error) {
	for _, value := range []*string{&o.Trees, &o.Transform.Scores} {
		if *value == off {
			*value = ""
		}
	}
	r := record{plainOptions: (*plainOptions)(&o)}
	if o.Head != nil {
		var err error
		if r.Head, err = head.Encode(o.Head); err != nil {
			return nil, err
		}
	}
	return json.Marshal(r)
}

// UnmarshalJSON reads a record whose head is one of [head.Methods].
func (o *Options) UnmarshalJSON(text []byte) error {
	r := record{plainOptions: (*plainOptions)(o)}
	err := json.Unmarshal(text, &r)
	if err == nil && r.Head != nil {
		o.Head, err = head.Parse(r.Head)
	}
	o.Trees, o.Transform.Scores = cmp.Or(o.Trees, off), cmp.Or(o.Transform.Scores, off)
	return err
}
