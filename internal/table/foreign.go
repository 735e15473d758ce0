package table

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"credence/internal/fault"
	"credence/internal/words"
)

// foreignFormat is a format of other programs that is not read, but recognized by its content.
type foreignFormat struct {
	name    string
	begins  []string // what files begin with
	convert string   // the command that converts a file; [FILE] and [BASE] are replaced by its name, with and without extension
}

// pandas returns the command that converts a file by a reader of pandas.
func pandas(read, write, extension string) string {
	return fmt.Sprintf(`python3 -c "import pandas, sys; pandas.%s.%s" [FILE] [BASE]%s`, read, write, extension)
}

// sasMagic is what data sets of SAS begin with.
const sasMagic = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92\x08\x00\x09\xc7\x31\x8c\x18\x1f\x10\x11"

const toCSV = "to_csv(sys.argv[2], index=False)"

var foreignFormats = []foreignFormat{
	{"a Feather file", []string{"ARROW1\x00\x00", "FEA1\x00"}, pandas("read_feather(sys.argv[1])", "to_parquet(sys.argv[2])", ".parquet")},
	{"an SQLite database", []string{"SQLite format 3\x00"}, `sqlite3 -header -csv [FILE] "SELECT * FROM name_of_the_table" > [BASE].csv`},
	{"an SPSS file", []string{"$FL2", "$FL3"}, pandas("read_spss(sys.argv[1])", toCSV, ".csv")},
	{"a Stata file", []string{"<stata_dta>", "\x71\x01\x01", "\x71\x02\x01", "\x72\x01\x01", "\x72\x02\x01", "\x73\x01\x01", "\x73\x02\x01"},
		pandas("read_stata(sys.argv[1])", toCSV, ".csv")},
	{"a SAS data set", []string{sasMagic}, pandas("read_sas(sys.argv[1], format='sas7bdat', encoding='infer')", toCSV, ".csv")},
	{"a SAS transport file", []string{"HEADER RECORD*******LIBRARY HEADER RECORD!!!!!!!", "HEADER RECORD*******LIBV8"},
		pandas("read_sas(sys.argv[1], format='xport', encoding='latin-1')", toCSV, ".csv")},
}

// foreignError returns an error if data that begin with head are in a format of another program, with the command that converts
// the file.
func foreignError(file string, head []byte) error {
	for _, f := range foreignFormats {
		for _, magic := range f.begins {
			if !bytes.HasPrefix(head, []byte(magic)) {
				continue
			}
			base := strings.TrimSuffix(file, filepath.Ext(file))
			if ext := strings.ToLower(filepath.Ext(file)); ext == ".csv" || ext == ".parquet" {
				base += "-table" // the command must not write over the file
			}
			if file == Stdin {
				file, base = "FILE", "FILE"
			}
			command := strings.NewReplacer("[FILE]", words.Quote(file), "[BASE].csv", words.Quote(base+".csv"), "[BASE].parquet", words.Quote(base+".parquet")).Replace(f.convert)
			return fault.Malformed(file, "expected a table, found %s: convert it with: %s", f.name, command)
		}
	}
	return nil
}

// checkForeign returns an error if a file is in a format of another program.
func checkForeign(path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil // a pipe can be read only once
	}
	f, err := os.Open(path)
	if err != nil {
		return nil // its reader reports the error
	}
	defer f.Close()
	head := make([]byte, 64)
	n, _ := io.ReadFull(f, head)
	return foreignError(path, head[:n])
}
