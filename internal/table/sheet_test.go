package table

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReadSheet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clinic.csv")
	if err := os.WriteFile(path, []byte("\ufeffScan ID;MMSE;mmse;CDR\n a ;29;x;0,5\n\nb;NA;;none\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	table, err := ReadSheet(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) != 2 || table.Rows[0][0] != "a" || table.Rows[1][1] != "" || table.Rows[1][3] != "" {
		t.Errorf("rows %q", table.Rows)
	}
	if x, ok := table.Number(table.Rows[0][3]); !ok || x != 0.5 {
		t.Errorf("%q is %v", table.Rows[0][3], x)
	}
	for _, c := range []struct {
		names []string
		want  int
	}{
		{[]string{"CDGLOBAL", "CDR"}, 3},
		{[]string{"scan_id"}, 0},
		{[]string{"mmse"}, 2},
		{[]string{"Mmse"}, 1},
		{[]string{"DX"}, -1},
		{nil, -1},
	} {
		if got := table.Column(c.names...); got != c.want {
			t.Errorf("Column(%q) = %d, want %d", c.names, got, c.want)
		}
	}
	if got, want := table.Errorf(1, 1, "what").Error(), "reading "+path+": line 4, column 2 (MMSE): what"; got != want {
		t.Errorf("error %q, want %q", got, want)
	}
	if got, want := table.Errorf(-1, -1, "what").Error(), "reading "+path+": what"; got != want {
		t.Errorf("error %q, want %q", got, want)
	}
	if _, err := ReadSheet(t.Context(), filepath.Join(t.TempDir(), "none.csv"), nil); err == nil {
		t.Error("a file that is not there was read")
	}
}
