package table

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"credence/internal/words"
)

// Files of other programs are refused by their content, whatever their name, with the command that converts them.
func TestForeign(t *testing.T) {
	for _, c := range []struct{ name, head, want string }{
		{"votes.feather", "ARROW1\x00\x00\xff\xff", `found a Feather file: convert it with: python3 -c "import pandas, sys; pandas.read_feather(sys.argv[1]).to_parquet(sys.argv[2])" `},
		{"votes.csv", "FEA1\x00\x00\x00\x00", "found a Feather file"},
		{"votes.db", "SQLite format 3\x00\x10\x00", `found an SQLite database: convert it with: sqlite3 -header -csv `},
		{"votes.sav", "$FL2@(#) SPSS DATA FILE", "found an SPSS file: convert it with: python3 -c \"import pandas, sys; pandas.read_spss(sys.argv[1])"},
		{"votes.zsav", "$FL3@(#)", "found an SPSS file"},
		{"it's votes.dta", "<stata_dta><header>", words.Quote("it's votes.dta")[5:] + " "},
		{"old.dta", "\x73\x02\x01\x00\x05\x00", "found a Stata file"},
		{"votes.xlsx", "SQLite format 3\x00", "found an SQLite database"},
		{"votes.csv", "SQLite format 3\x00", "votes-table.csv"}, // not over the file itself
		{"votes.parquet", sasMagic + "\x22\x22", "found a SAS data set: convert it with: python3 -c \"import pandas, sys; pandas.read_sas(sys.argv[1], format='sas7bdat', encoding='infer')"},
		{"votes.xpt", "HEADER RECORD*******LIBRARY HEADER RECORD!!!!!!!000000", "found a SAS transport file"},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(path, []byte(c.head), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(context.Background(), path, Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := Open(context.Background(), "-", Options{Stdin: []byte("SQLite format 3\x00")}); err == nil || !strings.Contains(err.Error(), "-csv FILE") {
		t.Error(err)
	}
}
