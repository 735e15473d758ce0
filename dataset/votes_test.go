package dataset

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"credence/internal/table"
)

// inDir writes files into a new working directory, so that messages name them
// alone.
func inDir(t *testing.T, namesAndTexts ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for file := range slices.Chunk(namesAndTexts, 2) {
		if err := os.WriteFile(file[0], []byte(file[1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadVotes(t *testing.T) {
	for _, c := range []struct {
		name, text string
		opts       VotesOptions
		want       string // items, classes, counts
		how        string
		warnings   string
	}{
		{
			name: "long", text: "item,annotator,label\na,r1,yes\na,r2,no\nb,r1,yes\n",
			want: "[a b] [no yes] [1 1 0 1]",
			how:  "2 items, 2 classes, 1–2 votes per item (3 in all), 2 raters; long form, columns item, annotator and label of votes.csv",
		},
		{
			name: "long, numbers in order, two spellings", text: "id;rating\n1;10\n1;9\n2;9.0\n2;1\n",
			want: "[1 2] [1 9 10] [0 1 1 1 1 0]",
			how:  "2 items, 3 classes, 2 votes per item (4 in all), no rater column; long form, columns id and rating of votes.csv",
		},
		{
			name: "long, byte-order mark, CRLF, quotes", text: "\ufeffitem\tlabel\r\n\"a b\"\t\"x\ty\"\r\nc\tz\r\nc\tz\r\n",
			want: "[a b c] [x\ty z] [1 0 0 2]",
			how:  "2 items, 2 classes, 1–2 votes per item (3 in all), no rater column; long form, columns item and label of votes.csv",
		},
		{
			name: "long, blank label and one item without votes", text: "item,label\na,x\na,y\nb,NA\n",
			want: "[a b] [x y] [1 1 0 0]", warnings: "1 row without a label left out",
			how: "2 items, 2 classes, 2 votes per item (2 in all), 1 item without votes, no rater column; long form, columns item and label of votes.csv",
		},
		{
			name: "long, one vote an item", text: "item,label\na,x\nb,y\n",
			want: "[a b] [x y] [1 0 0 1]", warnings: ErrOneVote.Error(),
			how: "2 items, 2 classes, 1 vote per item (2 in all), no rater column; long form, columns item and label of votes.csv",
		},
		{
			name: "long, a rater twice", text: "item,rater,label\na,r,x\na,r,y\na,s,y\n",
			want: "[a] [x y] [0 2]", warnings: "1 vote by a rater who had voted on the item before (rater r on item a, line 3): the last vote counts",
			how: "1 item, 2 classes, 2 votes per item (2 in all), 2 raters; long form, columns item, rater and label of votes.csv",
		},
		{
			name: "long, a rater twice, first", text: "item,rater,label\na,r,x\na,r,y\na,s,y\n", opts: VotesOptions{Duplicates: FirstVote},
			want: "[a] [x y] [1 1]", warnings: "1 vote by a rater who had voted on the item before (rater r on item a, line 3): the first vote counts",
			how: "1 item, 2 classes, 2 votes per item (2 in all), 2 raters; long form, columns item, rater and label of votes.csv",
		},
		{
			name: "long with counts", text: "item,label,count\na,x,3\na,y,0.5\n",
			want: "[a] [x y] [3 0.5]",
			how:  "1 item, 2 classes, 3.5 votes per item (3.5 in all), no rater column; long form, columns item and label of votes.csv",
		},
		{
			name: "classes only in test", text: "item,label\na,0\na,1\na,2\n", opts: VotesOptions{Classes: []string{"0", "1"}, LeaveOut: true},
			want: "[a] [0 1] [1 1]", warnings: "1 vote left out, for labels [\"2\"] that are not among the classes [0 1]",
			how: "1 item, 2 classes, 2 votes per item (2 in all), no rater column; long form, columns item and label of votes.csv",
		},
		{
			name: "classes alike", text: "item,label\na,Yes\na,yes\n",
			want: "[a] [Yes yes] [1 1]", warnings: `classes "Yes" and "yes" differ only in case: are they the same?`,
			how: "1 item, 2 classes, 2 votes per item (2 in all), no rater column; long form, columns item and label of votes.csv",
		},
		{
			name: "wide by blanks", text: "item,r1,r2,r3\na,1,2,\nb,2,2,1\n",
			want: "[a b] [1 2] [1 1 1 2]",
			how:  "2 items, 2 classes, 2–3 votes per item (5 in all), 3 raters; wide form, items in column item of votes.csv",
		},
		{
			name: "wide by text, without an item column", text: "r1,r2\nx,y\nx,x\n",
			want: "[0 1] [x y] [1 1 2 0]",
			how:  "2 items, 2 classes, 2 votes per item (4 in all), 2 raters; wide form, rows numbered from 0 of votes.csv",
		},
		{
			name: "counts above 10", text: "item,cat,dog\na,12,0\nb,3,4\n",
			want: "[a b] [cat dog] [12 0 3 4]",
			how:  "2 items, 2 classes, 7–12 votes per item (19 in all); counts form, items in column item of votes.csv",
		},
		{
			name: "counts by header", text: "item,dog,cat\na,1,0\nb,3,4\n", opts: VotesOptions{Classes: []string{"cat", "dog"}},
			want: "[a b] [cat dog] [0 1 4 3]",
			how:  "2 items, 2 classes, 1–7 votes per item (8 in all); counts form, items in column item of votes.csv",
		},
		{
			name: "counts, fractional and blank", text: "item,cat,dog\na,2.5,\n", opts: VotesOptions{Form: Counted},
			want: "[a] [cat dog] [2.5 0]", warnings: "1 cell without a count, treated as 0",
			how: "1 item, 2 classes, 2.5 votes per item (2.5 in all); counts form, items in column item of votes.csv",
		},
		{
			name: "fractions", text: "item,cat,dog,total\na,0.33,0.67,3\nb,0.25,0.75,10\nc,0,0,0\n", opts: VotesOptions{Form: Fractions},
			want: "[a b c] [cat dog] [1 2 2.5 7.5 0 0]",
			how:  "3 items, 2 classes, 3–10 votes per item (13 in all), 1 item without votes; fractions form, items in column item of votes.csv",
		},
		{
			name: "fractions by header", text: "item,cat,dog,n\na,0.5,0.5,2\n", opts: VotesOptions{Classes: []string{"cat", "dog"}},
			want: "[a] [cat dog] [1 1]",
			how:  "1 item, 2 classes, 2 votes per item (2 in all); fractions form, items in column item of votes.csv",
		},
		{
			name: "chosen columns", text: "item,age,x,y\na,40,1,2\n", opts: VotesOptions{Form: Counted, Columns: []string{"x", "y"}},
			want: "[a] [x y] [1 2]",
			how:  "1 item, 2 classes, 3 votes per item (3 in all); counts form, items in column item of votes.csv",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			inDir(t, "votes.csv", c.text)
			v, err := ReadVotes(t.Context(), "votes.csv", c.opts)
			if err != nil {
				t.Fatal(err)
			}
			ds := v
			if err := ds.Check(); err != nil {
				t.Error(err)
			}
			if got := fmt.Sprint(ds.Items, " ", ds.Classes, " ", ds.Counts); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if got := ds.Votes.String(); got != c.how {
				t.Errorf("got  %s\nwant %s", got, c.how)
			}
			if got := warningText(ds.Warnings); got != c.warnings {
				t.Errorf("got warnings %q\nwant %q", got, c.warnings)
			}
		})
	}
}

func warningText(w []error) string {
	if err := errors.Join(w...); err != nil {
		return err.Error()
	}
	return ""
}

func TestReadVotesRefuses(t *testing.T) {
	two := []string{"0", "1"}
	for _, c := range []struct {
		name, text string
		opts       VotesOptions
		want       string
	}{
		{"empty", "", VotesOptions{}, "the file is empty"},
		{"blank lines", "\n\n  \n", VotesOptions{}, "the file is empty"},
		{"header only, long", "item,label\n", VotesOptions{}, "there are no rows below the header"},
		{"header only, wide", "item,r1,r2\n", VotesOptions{}, "there are no rows below the header"},
		{"UTF-16", "\xff\xfei\x00", VotesOptions{}, `the text is UTF-16: save it as "CSV UTF-8" in a spreadsheet, or convert it, for example with iconv`},
		{"Latin-1", "item,label\na,caf\xe9\n", VotesOptions{}, `line 2, column 2 (label): the text is not UTF-8: save it as "CSV UTF-8" in a spreadsheet, or convert it, for example with iconv`},
		{"labels of other classes", "item,label\na,yes\na,no\n", VotesOptions{Classes: []string{"0", "1"}, LeaveOut: true}, `expected labels among the classes [0 1], found ["yes", "no"]`},
		{"columns of other classes", "item,yes,no\na,11,0\n", VotesOptions{Classes: []string{"0", "1"}, LeaveOut: true}, `expected columns among the classes [0 1], found ["yes", "no"]`},
		{"binary", "PAR1\x00\x00", VotesOptions{}, "expected CSV, TSV or JSON, found binary data"},
		{"two headers", "item,label,item\n", VotesOptions{}, `line 1, column 3: duplicate column "item": already column 1`},
		{"short row", "item,rater,label\na,r,x\nb,r\n", VotesOptions{}, "line 3, column 3: expected 3 fields, as in the header, found 2"},
		{"long row", "item,label\na,x\na,x,y\n", VotesOptions{}, "line 3, column 3: expected 2 fields, as in the header, found 3"},
		{"row names of R without a header", "item,label\n1,a,x\n", VotesOptions{}, "line 2, column 3: expected 2 fields, as in the header, found 3: if the first field is a row name, as R writes it, name that column (col.names = NA) or omit it (row.names = FALSE)"},
		{"lines of an old Macintosh", "item,label\ra,x\ra,y\r", VotesOptions{}, `lines end in carriage returns only: save the file with line feeds, in a spreadsheet as "CSV UTF-8"`},
		{"a quote in a field", "sep=,\r\nitem,label\r\na,5\" tall\r\n", VotesOptions{}, `line 3: character 4: unescaped quote ("): enclose the field in quotes and double the quotes inside it`},
		{"a quote left open", "item,label\na,\"x\nb,y\n", VotesOptions{}, `line 3: character 5: the quote (") opened on line 2 is not closed, or not followed by a separator`},
		{"quotes and blanks", "\"item\" \"label\"\na x\n", VotesOptions{}, `line 1: character 6: extraneous or missing " in quoted-field; expected fields separated by commas, semicolons, tabs or bars, found none of them in the first line`},
		{"open quote", "item,label\na,\"x\n", VotesOptions{}, "line 2: character 6: extraneous or missing \" in quoted-field"},
		{"wrong label", "item,label\na,0\nb,1\nb,3\n", VotesOptions{Classes: two}, `line 4: expected a label among [0 1], found "3"`},
		{"one class", "item,label\na,x\n", VotesOptions{}, "expected votes for at least two classes, found 1: [x]"},
		{"no id", "item,label\n,x\n", VotesOptions{}, "line 2, column 1 (item): the item has no id"},
		{"no such column", "item,label\na,x\n", VotesOptions{LabelColumn: "grade"}, `no column "grade" among [item, label]`},
		{"long without label", "item,x\na,1\n", VotesOptions{Form: Long}, "expected a column for the label, found [item, x]"},
		{"a rater twice", "item,rater,label\na,r,x\na,r,y\n", VotesOptions{Duplicates: RefuseSecond}, `line 3: second vote by rater "r" on item "a"`},
		{"an item twice", "item,p,q\na,x,y\nb,x,x\na,x,y\n", VotesOptions{}, `line 4, column 1 (item): item "a" is there already, on line 2`},
		{"negative count", "item,p,q\na,11,-1\n", VotesOptions{Form: Counted}, `line 2, column 3 (q): expected a number of votes from 0 to 16,777,216, found "-1"`},
		{"NaN count", "item,p,q\na,inf,1\n", VotesOptions{Form: Counted}, `line 2, column 2 (p): expected a number of votes from 0 to 16,777,216, found "inf"`},
		{"huge count", "item,p,q\na,1e300,1\n", VotesOptions{Form: Counted}, `line 2, column 2 (p): expected a number of votes from 0 to 16,777,216, found "1e300"`},
		{"count of text", "item,p,q\na,one,1\n", VotesOptions{Form: Counted}, `line 2, column 2 (p): expected a number of votes from 0 to 16,777,216, found "one"`},
		{"count of long form", "item,label,count\na,x,-2\n", VotesOptions{}, `line 2, column 3 (count): expected a number of votes from 0 to 16,777,216, found "-2"`},
		{"column not a class", "item,0,1,2\na,1,1,1\n", VotesOptions{Form: Counted, Classes: two}, `expected a column for one of the classes [0 1], found "2"`},
		{"fractions without total", "item,p,q\na,.5,.5\n", VotesOptions{Form: Fractions}, "expected a column for the number of votes, found [item, p, q]"},
		{"fractions over one", "item,p,q,n\na,.5,.7,4\n", VotesOptions{Form: Fractions}, `line 2: expected the fractions of item "a" to sum to 1, found 1.2`},
		{"fractions, no number", "item,p,q,n\na,.5,.5,\n", VotesOptions{Form: Fractions}, "line 2, column 4 (n): expected the number of votes, found an empty cell"},
		{"class twice", "item,label\na,0\n", VotesOptions{Classes: []string{"0", "0"}}, `class "0" is named twice`},
		{"no columns of votes", "item\na\n", VotesOptions{}, "no column of votes among [item]"},
		{
			"small whole numbers", "item,r1,r2\na,1,2\nb,0,1\n", VotesOptions{},
			"these votes can be read in more than one way:\n" +
				"  wide: 2 raters [r1, r2] who chose among the classes [0 1 2]; item \"a\" got the votes 1, 2\n" +
				"  counts: 2 classes [r1, r2]; item \"a\" got 1, 2 votes for them",
		},
		{
			"fractions unnamed", "item,p,q,n\na,.5,.5,2\n", VotesOptions{},
			"these votes can be read in more than one way:\n" +
				"  wide: 3 raters [p, q, n] who chose among the classes [.5 2]; item \"a\" got the votes .5, .5, 2\n" +
				"  counts: 3 classes [p, q, n]; item \"a\" got .5, .5, 2 votes for them\n" +
				"  fractions: 2 classes [p, q]; item \"a\" got the shares .5, .5 of 2 votes",
		},
		{
			"negative labels", "item,p,q\na,-1,1\n", VotesOptions{},
			"the form of these votes is ambiguous:\n" +
				"  wide: 2 raters [p, q] who chose among the classes [-1 1]; item \"a\" got the votes -1, 1",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			inDir(t, "votes.csv", c.text)
			_, err := ReadVotes(t.Context(), "votes.csv", c.opts)
			if err == nil || err.Error() != "reading votes.csv: "+c.want {
				t.Errorf("got  %v\nwant reading votes.csv: %s", err, c.want)
			}
		})
	}
	if _, err := ReadVotes(t.Context(), "absent.csv", VotesOptions{}); !errors.Is(err, os.ErrNotExist) || err.Error() != "reading absent.csv: "+syscall.ENOENT.Error() {
		t.Errorf("absent file: %v", err)
	}
	inDir(t, "votes.xlsx", "x")
	if _, err := ReadVotes(t.Context(), "votes.xlsx", VotesOptions{}); err == nil || !strings.Contains(err.Error(), "expected a workbook") {
		t.Errorf("spreadsheet: %v", err)
	}
}

func FuzzReadVotes(f *testing.F) {
	f.Add([]byte("item,rater,label\na,r,x\nb,r,y\n"), uint8(0))
	f.Add([]byte("item,rater,label,kind\na,r,x,human\na,j,y,machine\nb,r,y,human\n"), uint8(0))
	f.Add([]byte("item;p;q\na;11;2\nb;3;4\n"), uint8(0))
	f.Add([]byte("item\tp\tq\tn\na\t.5\t.5\t2\n"), uint8(4))
	f.Add([]byte("\ufeff\"item\",\"p\",q\r\na,x,\r\n"), uint8(2))
	f.Fuzz(func(t *testing.T, text []byte, form uint8) {
		from, err := table.NewText(t.Context(), readCloser(text), "votes.csv", table.Options{})
		if err != nil {
			return
		}
		v, err := readVotes(t.Context(), from, VotesOptions{Form: Form(form % 5)})
		if err != nil {
			return
		}
		if err := v.dataset().Check(); err != nil {
			t.Error(err)
		}
	})
}

// TestWithdrawn checks that the last row of a rater on an item counts, or none if it has no label.
func TestWithdrawn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "votes.csv")
	text := "item,rater,label\na,ann,yes\na,bob,no\na,ann,\nb,ann,\nb,ann,yes\nc,bob,no\nc,bob,\nc,bob,yes\n"
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	ds, err := ReadVotes(t.Context(), path, VotesOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(ds.Items, ds.Classes, ds.Counts); got != "[a b c] [no yes] [1 0 0 1 0 1]" {
		t.Error(got)
	}
	if got := fmt.Sprint(ds.Warnings); !strings.Contains(got, "2 votes withdrawn") || !strings.Contains(got, "1 row without a label") {
		t.Error(got)
	}
}
