package simulation

import (
	"bytes"
	"testing"

	"credence/internal/golden"
)

// TestNodules writes the spreadsheet of docs/clinical again.
func TestNodules(t *testing.T) {
	var b bytes.Buffer
	if err := WriteNodules(&b, 600, 1); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "../../docs/clinical/nodules.csv", b.Bytes())
}
