package dataset

import (
	"os"
	"path/filepath"
	"testing"
)

// realData returns the folder with the public multi-rater data, which are not
// part of the repository, or skips the test.
func realData(t *testing.T) string {
	dir := os.Getenv("CREDENCE_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "data")
	}
	if _, err := os.Stat(filepath.Join(dir, "lidc")); err != nil {
		t.Skip("no multi-rater data: set CREDENCE_DATA to their folder")
	}
	return dir
}

func TestRealVotes(t *testing.T) {
	t.Chdir(realData(t))
	for file, want := range map[string]string{
		"lidc/votes.csv":          "2,687 items, 5 classes, 1–4 votes per item (6,698 in all), no rater column; long form, columns item and label of lidc/votes.csv",
		"recidivism/votes.csv":    "1,000 items, 2 classes, 20 votes per item (20,000 in all), 400 raters; long form, columns item, rater and label of recidivism/votes.csv",
		"labelme/votes_train.csv": "1,000 items, 8 classes, 1–3 votes per item (2,547 in all), 59 raters; long form, columns item, rater and label of labelme/votes_train.csv",
	} {
		v, err := ReadVotes(t.Context(), file, VotesOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := v.Votes.String(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		warnings := ""
		for _, w := range v.Warnings {
			warnings += w.Error()
		}
		expected := ""
		if file == "lidc/votes.csv" {
			expected = "classes [1, 2, 3, 4, 5] look like the points of a scale: are they ordered?"
		}
		if warnings != expected {
			t.Errorf("%s: expected the warning %q, found %q", file, expected, warnings)
		}
	}
}
