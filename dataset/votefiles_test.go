package dataset

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// Votes of several files are added up, in any forms, and a warning reports votes of one
// rater on one item in two files.
func TestSeveralVotes(t *testing.T) {
	inDir(t,
		"items.csv", "id,x\na,1\nb,2\nc,3\n",
		"long.csv", "id,rater,label\na,r1,no\na,r2,yes\nb,r1,yes\n",
		"more.csv", "id,rater,label\na,r1,yes\na,r2,yes\nc,r3,maybe\n",
		"wide.csv", "id,r1,r4\na,maybe,\nc,no,no\n",
		"counts.csv", "id,yes,no\nb,20,3\n",
		"one.csv", "id,label\nb,no\nb,no\n",
		"weighted.csv", "id,rater,label,count\na,r1,no,2\nb,r9,yes,3\n",
		"again.csv", "id,rater,label,count\na,r1,yes,5\n",
		"tens.csv", "id,label\na,10\nb,9\n", "nines.csv", "id,label\na,9.0\nc,11\n",
	)
	for _, c := range []struct {
		files   string
		policy  Duplicates
		want    string // classes, counts of a, b and c, ratings
		warning string
	}{
		{"long.csv more.csv", LastVote, "[maybe no yes] [0 0 2 0 0 1 1 0 0] 4",
			"2 votes by a rater who had voted on the item in another file, 1 for another class (rater r1 on item a: no in long.csv, yes in more.csv): the last vote counts"},
		{"long.csv more.csv", FirstVote, "[maybe no yes] [0 1 1 0 0 1 1 0 0] 4", "the first vote counts"},
		{"long.csv more.csv", EveryVote, "[maybe no yes] [0 1 3 0 0 1 1 0 0] 6", "every vote counts"},
		{"more.csv long.csv", LastVote, "[maybe no yes] [0 1 1 0 0 1 1 0 0] 4", "yes in more.csv, no in long.csv"},
		{"long.csv wide.csv", LastVote, "[maybe no yes] [1 0 1 0 0 1 0 2 0] 5", "rater r1 on item a: no in long.csv, maybe in wide.csv"},
		{"long.csv counts.csv", LastVote, "[no yes] [1 1 3 21 0 0] 3", ""},
		{"one.csv counts.csv long.csv", LastVote, "[yes no] [1 1 21 5 0 0] 3", ""},
		{"weighted.csv again.csv", LastVote, "[no yes] [0 5 0 3 0 0] 2", "no in weighted.csv, yes in again.csv"},
		{"weighted.csv again.csv", FirstVote, "[no yes] [2 0 0 3 0 0] 2", ""},
		{"tens.csv nines.csv", LastVote, "[9 10 11] [1 1 0 1 0 0 0 0 1] 0", ""},
	} {
		o := LoadOptions{Data: []string{"items.csv"}, Votes: strings.Fields(c.files), VotesOptions: VotesOptions{Duplicates: c.policy}}
		ds, err := Load(t.Context(), o)
		if err != nil {
			t.Errorf("%s: %v", c.files, err)
			continue
		}
		if got := fmt.Sprint(ds.Classes, ds.Counts, len(ds.Ratings)); got != c.want {
			t.Errorf("%s, policy %d: got %s, want %s", c.files, c.policy, got, c.want)
		}
		if err := ds.Check(); err != nil {
			t.Errorf("%s: %v", c.files, err)
		}
		if text := fmt.Sprint(ds.Warnings); !strings.Contains(text, c.warning) {
			t.Errorf("%s: warnings %s, want %s", c.files, text, c.warning)
		}
	}
}

func TestSeveralVotesBad(t *testing.T) {
	inDir(t,
		"items.csv", "id,x\na,1\nb,2\nc,3\n",
		"votes.csv", "id,rater,label\na,r1,no\na,r2,yes\nb,r1,yes\n",
		"more.csv", "id,rater,label\na,r1,yes\n",
		"other.csv", "id,label\nz,no\ny,yes\n",
		"rows.csv", "r1,r2\nno,yes\nyes,yes\nno,no\n", "short.csv", "r3\nno\nyes\n",
		"copy.csv", "id,label\na,no\nb,yes\n", "copied.csv", "id,label\na,no\nb,yes\n",
	)
	for _, c := range []struct {
		files, want string
		policy      Duplicates
	}{
		{"votes.csv more.csv", `reading more.csv: second vote by rater "r1" on item "a": no in votes.csv, yes here`, RefuseSecond},
		{"votes.csv ./votes.csv", `reading ./votes.csv: this file of votes is given twice, also as votes.csv: its votes would be counted twice`, LastVote},
		{"votes.csv other.csv", `no item of other.csv has features: its items are "z", "y", those with features are "a", "b", "c"`, LastVote},
		{"votes.csv rows.csv", `reading rows.csv: no id column, but votes.csv has one, "id": votes of several files are added up by item`, LastVote},
		{"rows.csv short.csv", `reading short.csv: votes on 2 items, but rows.csv has votes on 3: without an id column, votes are added up by position`, LastVote},
		{"votes.csv absent.csv", "reading absent.csv: " + syscall.ENOENT.Error(), LastVote},
	} {
		o := LoadOptions{Data: []string{"items.csv"}, Votes: strings.Fields(c.files), VotesOptions: VotesOptions{Duplicates: c.policy}}
		if _, err := Load(t.Context(), o); err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.files, err, c.want)
		}
	}
	ds, err := Load(t.Context(), LoadOptions{Votes: []string{"copy.csv", "copied.csv"}})
	if err != nil || !strings.Contains(fmt.Sprint(ds.Warnings), "copied.csv has the same votes on the same items as copy.csv, and both count") {
		t.Error(ds, err)
	}
}

// The interpretation lists several files one by one if they differ; a model stores no
// paths.
func TestSeveralVotesInterpretation(t *testing.T) {
	inDir(t, "long.csv", "id,rater,label\na,r1,no\na,r2,yes\n", "wide.csv", "id,r1,r4\na,,no\nc,no,no\n")
	ds, err := Load(t.Context(), LoadOptions{Votes: []string{"long.csv", "wide.csv"}})
	if err != nil {
		t.Fatal(err)
	}
	const want = "2 items, 2 classes, 2–3 votes per item (5 in all), 3 raters; long form, columns id, rater and label of long.csv; wide form, items in column id of wide.csv"
	if got := ds.Votes.String(); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	how := ds.Votes
	how.File = ""
	if got := how.String(); strings.Contains(got, ".csv") || !strings.Contains(got, "wide form") {
		t.Error(got)
	}
}
