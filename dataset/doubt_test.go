package dataset

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// votesOf returns a file of votes with the given labels, repeated.
func votesOf(labels ...any) string {
	var b strings.Builder
	b.WriteString("item,rater,label\n")
	n := 0
	for i := 0; i < len(labels); i += 2 {
		for range labels[i+1].(int) {
			fmt.Fprintf(&b, "i%d,r%d,%s\n", n/3, n%3, labels[i])
			n++
		}
	}
	return b.String()
}

func TestDoubtfulClasses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain", votesOf("benign", 40, "malignant", 20), ""},
		{"a slip", votesOf("benign", 40, "malignant", 20, "benigm", 1), `class "benigm", with 1 of 61 votes, is spelled almost like "benign", with 40: correct the file if it is a typo`},
		{"two slips", votesOf("benign", 400, "malignant", 200, "malignent", 3), `class "malignent", with 3 of 603 votes, is spelled almost like "malignant", with 200: correct the file if it is a typo`},
		{"a rare class", votesOf("safe", 40, "unsafe", 5), ""},
		{"grades", votesOf("grade 1", 400, "grade 2", 20, "grade 3", 2), ""},
		{"no vote", votesOf("no", 40, "yes", 20, "?", 5), `label "?" is treated as a separate class, with 5 of 65 votes`},
		{"a word for none", votesOf("no", 40, "yes", 20, "Unknown", 5), `label "Unknown" is treated as a separate class, with 5 of 65 votes`},
		{"signs", votesOf("+", 40, "-", 20), ""},
		{"opposites", votesOf("1", 40, "-1", 20, "0", 20), "classes [-1, 0, 1] look like the points of a scale: are they ordered?"},
		{"one", votesOf("1", 40, "2", 20, "77", 1), `1 class with only 1 of 61 votes: "77"; correct the file if this is a typo`},
		{"several", votesOf("1", 40, "2", 20, "77", 1, "88", 1), `2 classes with only 1 of 62 votes: "77", "88"; correct the file if this is a typo`},
		{"blanks", votesOf("not_hate", 20, "not hate", 20), `classes "not hate" and "not_hate" differ only in blanks, hyphens or dots: are they the same?`},
		{"decimals", votesOf("1.5", 20, "15", 20), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			inDir(t, "votes.csv", c.text)
			v, err := ReadVotes(t.Context(), "votes.csv", VotesOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got := warningText(v.Warnings); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			named, err := ReadVotes(t.Context(), "votes.csv", VotesOptions{Classes: v.Classes})
			if err != nil || strings.Contains(warningText(named.Warnings), "slip") {
				t.Errorf("named classes: %v, %v", err, named.Warnings)
			}
		})
	}
}

// scattered returns a file of n votes; label(i) is the label of the ith.
func scattered(n int, label func(i int) string) string {
	var labels []any
	for i := range n {
		labels = append(labels, label(i), 1)
	}
	return votesOf(labels...)
}

func TestMeasurements(t *testing.T) {
	const question = ": are they classes? Round measurements to a few values first"
	root := func(i, digits int) string { return strconv.FormatFloat(math.Sqrt(float64(i+2)), 'f', digits, 64) }
	wide := "item,r1,r2\n"
	for i := range 40 {
		wide += fmt.Sprintf("i%d,%s,%s\n", i, root(2*i, 3), root(2*i+1, 3))
	}
	for _, c := range []struct {
		name, text string
		form       Form
		want       string
	}{
		{"measurements", scattered(300, func(i int) string { return root(i, 3) }), Auto,
			"column label has 300 different numbers in 300 votes (1.414, 1.732, 2.000, …)" + question},
		{"to two digits", scattered(900, func(i int) string { return root(i%220, 2) }), Auto,
			"column label has 220 different numbers in 900 votes (1.41, 1.73, 2.00, …)" + question},
		{"with commas", strings.ReplaceAll(strings.ReplaceAll(scattered(300, func(i int) string { return root(i, 3) }), ",", ";"), ".", ","), Auto,
			"column label has 300 different numbers in 300 votes (1,414, 1,732, 2,000, …)" + question},
		{"ids", scattered(200, func(i int) string { return fmt.Sprint(1000 + 7*i) }), Auto,
			"column label has 200 different numbers in 200 votes (1000, 1007, 1014, …)" + question},
		{"too many", scattered(1200, func(i int) string { return fmt.Sprintf("%d.5", i) }), Auto,
			"expected at most 1,000 classes, found 1,200 different labels (0.5, 1.5, 2.5, …): " +
				"is this the label column? Round measurements to a few values first"},
		{"wide", wide, Wide, "votes have 80 different numbers in 80 votes (1.414, 1.732, 2.000, …)" + question},
		{"scores up to 100", scattered(300, func(i int) string { return fmt.Sprint(i % 100) }), Auto, ""},
		{"halves up to 100", scattered(1005, func(i int) string { return fmt.Sprintf("%.1f", float64(i%201)/2) }), Auto, ""},
		{"few grades", scattered(49, func(i int) string { return fmt.Sprintf("%.1f", float64(i)/2) }), Auto, ""},
		{"names", scattered(200, func(i int) string { return fmt.Sprintf("species %d", i) }), Auto, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			inDir(t, "votes.csv", c.text)
			_, err := ReadVotes(t.Context(), "votes.csv", VotesOptions{Form: c.form})
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || err.Error() != "reading votes.csv: "+c.want {
				t.Fatalf("got  %v\nwant %s", err, c.want)
			}
			if _, ok := errors.AsType[*Advice](err); !ok {
				t.Error("no advice")
			}
			// Classes in the options cause no warning.
			named := VotesOptions{Form: c.form, Classes: []string{"1.414", "1,414", "2.00", "1000", "0.5"}, LeaveOut: true}
			if v, err := ReadVotes(t.Context(), "votes.csv", named); err != nil || len(v.Classes) != 5 {
				t.Errorf("named classes: %v, %v", v, err)
			}
		})
	}
}

func TestLeaks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 300
	var items, votes strings.Builder
	items.WriteString("item,x,smoker,final,score,code,name\n")
	votes.WriteString("item,rater,label\n")
	for j := range n {
		p, malignant := r.Float64(), 0
		for k := range 3 {
			label := "benign"
			if r.Float64() < p {
				label = "malignant"
				malignant++
			}
			fmt.Fprintf(&votes, "i%d,r%d,%s\n", j, k, label)
		}
		final := "Benign"
		if malignant > 1 {
			final = "Malignant"
		}
		smoker := []string{"yes", "no"}[r.IntN(2)]
		fmt.Fprintf(&items, "i%d,%g,%s,%s,%g,%d,n%d\n", j, p, smoker, final, float64(malignant)+0.1*r.Float64(), malignant, j%60)
	}
	write(t, map[string]string{"items.csv": items.String(), "votes.csv": votes.String()})
	ds, err := Load(t.Context(), LoadOptions{Data: []string{"items.csv"}, Votes: []string{"votes.csv"}})
	if err != nil {
		t.Fatal(err)
	}
	got := warningText(ds.Warnings)
	for _, want := range []string{
		`column "final" has the classes as its levels, and equals the majority vote for 100% of the items: does it contain the label, or a rater's votes?`,
		`column "score" alone predicts the majority vote for `,
		`column "code" alone predicts the majority vote for 100% of the items (most frequent class: 5`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if strings.Count(got, "\n") != 2 {
		t.Errorf("the probability itself, smokers or names are no leaks:\n%s", got)
	}
}

// In tables of few rows, numbers that no other column shares are features if the others have none, or no fractions; raters
// who share no label by chance stay raters.
func TestFewRows(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"labels", "id,size,r1,r2\na,3.5,yes,no\nb,4.1,no,no\n", "columns [size] hardly share a label with the others"},
		{"one row", "id,size,r1,r2\na,3.5,yes,no\n", "columns [size] hardly share a label with the others"},
		{"fractions next to grades", "id,size,r1,r2\na,3.5,1,2\nb,4.1,,2\n", "columns [size] hardly share a label with the others"},
		{"whole numbers next to flags", "id,size,r1,r2\na,12,1,0\nb,15,0,0\n", "these votes can be read in more than one way"},
		{"raters who differ", "id,r1,r2\na,yes,no\n", ""},
		{"grades", "id,r1,r2,r3\na,1,,3\nb,2,1,3\n", ""},
		{"counts", "id,A,B\na,12,2\nb,3,15\n", ""},
	} {
		inDir(t, "v.csv", c.text)
		_, err := ReadVotes(t.Context(), "v.csv", VotesOptions{})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}
