//go:build extra

package e2e

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var reviewsOnce sync.Once

// reviews serves the reviews of the demonstration, with earlier votes and instructions.
func reviews(t *testing.T, args ...string) *server {
	t.Helper()
	reviewsOnce.Do(func() { credence(t, "demo", "--design", "reviews", "--out", "reviews") })
	write(t, "how.md", "# How to vote\n\nCall a review **positive** if *you* would go there.\n\n- Irony counts as <b>meant</b>.\n- See [the guide](https://example.org/guide).\n")
	votes := strings.ReplaceAll(t.Name(), "/", "-") + ".csv"
	return serve(t, append([]string{"reviews", "--items", "reviews/fresh-items.csv", "--earlier", "reviews/fresh-votes.csv", "--vote-log", votes, "--instructions", "how.md"}, args...)...).ready()
}

// dark switches the tab to dark colors.
func (b *tab) dark() {
	b.run(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}})
		return err
	}))
}

// TestNames: known names are offered, and a name that resembles one is asked about; instructions are shown.
func TestNames(t *testing.T) {
	s := reviews(t)
	both(t, func(t *testing.T, b *tab) {
		b.open(s, "queue")
		if n := eval[int](b, `document.querySelectorAll("#raters option").length`); n < 5 {
			t.Errorf("%d names are offered", n)
		}
		if got := eval[string](b, `document.querySelector(".how").innerHTML`); !strings.Contains(got, "<b>positive</b>") || !strings.Contains(got, "&lt;b&gt;meant") || !strings.Contains(got, `href="https://example.org/guide"`) {
			t.Errorf("the instructions are %s", got)
		}
		b.fits()
		b.shot("name")
		b.set("#rater", "ada")
		b.click("form.name button[type=submit]")
		b.until(`document.querySelector("#same")`)
		b.fits()
		b.screen("same")
		b.click("#same")
		b.until(`document.querySelector(".ask")?.dataset.item`)
		if got := b.text("#who"); got != "as Ada" {
			t.Errorf("the rater is %q", got)
		}
		// Ada voted on 3 of 5 of the 400 items before.
		left := eval[int](b, `Number(/(\d+) left/.exec(document.querySelector(".progress").innerText)[1])`)
		if left < 100 || left > 220 {
			t.Errorf("%d items are left", left)
		}
		b.click("#who")
		b.until(`document.querySelector("#rater")`)
		b.set("#rater", "Adah")
		b.press(kb.Enter)
		b.until(`!document.querySelector("#same") && document.querySelector(".ask")?.dataset.item`)
	})
}

// TestWords: after a vote on a text, the density is that of the class voted for, and words are marked.
func TestWords(t *testing.T) {
	s := reviews(t)
	both(t, func(t *testing.T, b *tab) {
		b.name(s, "kim-"+t.Name()[len(t.Name())-4:])
		if got := b.text(".ask .text"); strings.Count(got, ".") < 2 {
			t.Errorf("the item is %q", got)
		}
		if eval[bool](b, `!!document.querySelector(".ask mark")`) {
			t.Error("words are marked before the vote")
		}
		b.fits()
		b.screen("queue")
		b.press("1")
		b.until(`document.documentElement.dataset.sent && document.querySelector(".last .moved")`)
		if got := b.text(".last figcaption"); !strings.HasPrefix(got, "Probability of negative") {
			t.Errorf("after a vote for negative: %q", got)
		}
		b.fits()
		b.shot("voted")
		b.dark()
		b.shot("voted-dark")
		b.open(s, "items?item=review001")
		b.until(`document.querySelector("dialog .moved mark")`)
		b.fits()
		b.screen("item-dark")
	})
}

// TestSearchAndBack: texts are searched, and Back leads from an item to the list as it was.
func TestSearchAndBack(t *testing.T) {
	s := reviews(t)
	both(t, func(t *testing.T, b *tab) {
		b.open(s, "items")
		b.set("#contains", "Terrace")
		want := count(total(t, s, "contains=terrace")) + " of 400 items"
		b.until(`document.querySelector(".found").innerText === ` + quoted(want))
		if total(t, s, "contains=terrace") < 10 {
			t.Error("no text is found")
		}
		for _, back := range []string{"back", "close"} {
			b.click("table.items tbody button")
			b.until(`document.querySelector("dialog .text")?.innerText.includes("terrace") && location.hash.includes("item=")`)
			if back == "back" {
				b.run(chromedp.NavigateBack())
			} else {
				b.click("dialog .close")
			}
			b.until(`!document.querySelector("dialog") && location.hash === "#items"`)
			if got := b.text(".found"); got != want || eval[string](b, `document.querySelector("#contains").value`) != "Terrace" {
				t.Errorf("after %s the list has %s", back, got)
			}
		}
		b.run(chromedp.NavigateForward())
		b.until(`document.querySelector("dialog .text")`)
		b.press(kb.Escape)
		b.until(`!document.querySelector("dialog")`)
	})
}

// TestSignedOut signs in and out: a copy of the cookie is worth nothing.
func TestSignedOut(t *testing.T) {
	write(t, "token", "correct horse battery\n")
	s := serve(t, demo(t), "--items", "demo/fresh-items.csv", "--vote-log", "signed-out.csv", "--token-file", "token")
	both(t, func(t *testing.T, b *tab) {
		b.run(chromedp.Navigate(s.url()))
		b.until(`document.querySelector("dialog #token")`)
		b.set("#token", "correct horse battery\r")
		b.until(`document.documentElement.dataset.ready === "overview"`)
		b.fits()
		b.screen("signed-in")
		b.click("#sign-out")
		b.until(`document.querySelector("dialog #token")`)
	})
}

// TestSkippedRestart skips an item and starts the server again.
func TestSkippedRestart(t *testing.T) {
	s := demoServer(t)
	b := browse(t, widths["wide"])
	b.name(s, "ann")
	first := b.current()
	b.press("s")
	b.until(`document.querySelector(".ask").dataset.item !== ` + quoted(first))
	second := b.current()
	s.stop()
	s.start()
	s.ready()
	if got := bestItem(t, s, "ann"); got != second {
		t.Errorf("after a restart the queue begins with %s, want %s (skipped %s)", got, second, first)
	}
}

// axe is the path of axe-core's script.
func axe(t *testing.T) string {
	t.Helper()
	path := os.Getenv("CREDENCE_AXE")
	if path == "" {
		t.Skip("CREDENCE_AXE does not name axe.min.js: npm pack axe-core")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestAxe has axe-core look at every view, at both widths, in both colors.
func TestAxe(t *testing.T) {
	script := axe(t)
	credence(t, "demo", "--design", "reviews", "--out", "axe-data")
	credence(t, "train", "--data", "axe-data/items.csv", "--votes", "axe-data/votes.csv", "--raters", "on", "--epochs", "2", "--ensemble", "2", "--out", "axe-run")
	s := serve(t, "axe-run", "--items", "axe-data/fresh-items.csv", "--earlier", "axe-data/fresh-votes.csv", "--vote-log", "axe.csv").ready()
	both(t, func(t *testing.T, b *tab) {
		for _, color := range []string{"light", "dark"} {
			if color == "dark" {
				b.dark()
			}
			for _, view := range []string{"overview", "items", "items?item=review001", "queue", "raters"} {
				b.open(s, view)
				if strings.Contains(view, "?") {
					b.until(`document.querySelector("dialog .density")`)
				}
				if view == "queue" && color == "dark" {
					b.name(s, "kim-"+t.Name()[len(t.Name())-4:])
				}
				b.shot(color + "-" + strings.ReplaceAll(view, "?", "-"))
				b.fits()
				// The policy of the page forbids scripts of others, but not those of the debugger.
				b.run(chromedp.Evaluate[chromedp.Void](script + "\n;void 0"))
				b.run(chromedp.Evaluate[chromedp.Void](`window.found = null; axe.run(document, {resultTypes: ["violations"]}).then((r) => { window.found = r.violations.map((v) => v.id + ": " + v.nodes.map((n) => n.html.slice(0, 120)).join(" | ")); }); void 0`))
				b.until(`window.found`)
				for _, v := range eval[[]string](b, `window.found`) {
					t.Errorf("%s, %s: %s", view, color, v)
				}
				if strings.Contains(view, "?") {
					b.press(kb.Escape)
				}
			}
		}
	})
}
