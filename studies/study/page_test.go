package study

import "testing"

// TestFill: line breaks of the template are taken out of text and nothing else.
func TestFill(t *testing.T) {
	const page = `

# Title

some
  text 3


| a | b |
| --- | ---: |
| x\|y |  |

![](f.svg) What [it]
shows

- one
  and more
- two

` + "```sh\ncredence  \\\n\n  --quick\n```\n\n\n"
	const want = "# Title\n\nsome text 3\n\n| a | b |\n| --- | ---: |\n| x\\|y |  |\n\n" +
		"![What (it) shows](f.svg)\n\n*What [it] shows*\n\n- one and more\n- two\n\n" +
		"```sh\ncredence  \\\n\n  --quick\n```\n"
	if got := string(fill(page)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestPageNumbers: how numbers look on a page.
func TestPageNumbers(t *testing.T) {
	one, several := summarize([]float64{0.25}), summarize([]float64{0.2, 0.3})
	for _, c := range []struct{ got, want string }{
		{plusMinus(one, 2), "0.25"},
		{plusMinus(several, 3), "0.250 ± 0.050"},
		{plusMinus(summarize(nil), 2), "–"},
		{percentOf(several, 1), "25.0 ± 5.0"},
		{points(0.0123, 1), "1.2"},
		{tableCells([]string{"a|b", "", "c"}), `a\|b |  | c`},
		{joined([]int{3, 4}), "3 4"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestSpelled(t *testing.T) {
	for n, want := range map[int]string{0: "no seeds", 1: "one seed", 5: "five seeds", 6: "6 seeds", -1: "-1 seeds"} {
		if got := spelled(n, "seed"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
