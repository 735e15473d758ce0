package evaluate

import "fmt"

// Message is a warning or a reason: what it is about, and the values in its sentence. In JSON it is the
// sentence alone, and so is one that was read back.
type Message struct {
	Kind Kind
	Args []any
}

// Kind is what a message is about, as the format of its sentence.
type Kind string

// plain is the kind of a message that was read as a sentence.
const plain Kind = "%s"

// String returns the sentence.
func (m Message) String() string { return fmt.Sprintf(string(m.Kind), m.Args...) }

// MarshalText returns the sentence.
func (m Message) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText takes a sentence for a message.
func (m *Message) UnmarshalText(text []byte) error {
	*m = Message{plain, []any{string(text)}}
	return nil
}
