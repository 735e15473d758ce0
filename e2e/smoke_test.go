package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestSmokeViews loads every view of the demonstration at both widths.
func TestSmokeViews(t *testing.T) {
	s := serve(t, demo(t), "--items", "demo/fresh-items.csv", "--earlier", "demo/fresh-votes.csv", "--vote-log", "views.csv").ready()
	for name, size := range widths {
		t.Run(name, func(t *testing.T) {
			b := browse(t, size)
			b.open(s, "overview")
			if text := b.text("main"); !strings.Contains(text, "Do its intervals have the right width?") || !strings.Contains(text, "What needs attention") {
				t.Errorf("the overview says\n%s", text)
			}
			b.fits()
			b.shot("overview")
			b.open(s, "items")
			if text := b.text(".found"); text != "4,000 items" {
				t.Errorf("%q", text)
			}
			b.fits()
			b.shot("items")
			b.click("table.items tbody button")
			b.until(`document.querySelector("dialog .density")`)
			b.fits()
			b.screen("item")
			b.press("\x1b")
			b.until(`!document.querySelector("dialog")`)
			b.open(s, "queue")
			b.shot("name")
			b.click("form.name button")
			b.until(`document.querySelector(".ask")?.dataset.item`)
			b.fits()
			b.screen("queue")
		})
	}
}

// TestSmokeFourKeys is a first-time user's way from the page to the most informative vote.
func TestSmokeFourKeys(t *testing.T) {
	s := serve(t, demo(t), "--items", "demo/fresh-items.csv", "--vote-log", "four.csv").ready()
	best := bestItem(t, s, "nobody")
	for name, size := range widths {
		t.Run(name, func(t *testing.T) {
			b := browse(t, size)
			b.open(s, "overview")
			clicks := 0
			click := func(selector string) {
				clicks++
				b.click(selector)
			}
			click("main a.button.strong")
			b.until(`document.documentElement.dataset.ready === "queue"`)
			click("form.name button")
			b.until(`document.querySelector(".ask")?.dataset.item`)
			if got := eval[string](b, `document.querySelector(".ask").dataset.item`); name == "wide" && got != best {
				t.Errorf("the first item is %q, the one worth most %q", got, best)
			}
			clicks++
			b.press("1")
			b.until(`document.documentElement.dataset.sent`)
			if clicks > 4 {
				t.Errorf("%d clicks and keys", clicks)
			}
			t.Logf("%d clicks and keys", clicks)
			best = bestItem(t, s, "nobody")
		})
	}
	if n := strings.Count(readFile(t, "four.csv"), "rater-"); n != 2 {
		t.Errorf("%d votes in the file, want 2:\n%s", n, readFile(t, "four.csv"))
	}
}

// bestItem returns the item on which a vote is worth most, by the server.
func bestItem(t *testing.T, s *server, rater string) string {
	t.Helper()
	var q struct{ Items []struct{ Item string } }
	if err := json.Unmarshal([]byte(s.get("api/v1/queue?limit=1&rater="+rater)), &q); err != nil || len(q.Items) == 0 {
		t.Fatalf("%v, %v", q, err)
	}
	return q.Items[0].Item
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// name gives the tab a rater and opens the queue.
func (b *tab) name(s *server, rater string) {
	b.t.Helper()
	b.open(s, "queue")
	b.run(chromedp.SetValue(chromedp.CSS("#rater"), rater))
	b.click("form.name button")
	b.until(`document.querySelector(".ask")?.dataset.item`)
}

// current is the item that the queue asks about.
func (b *tab) current() string {
	b.t.Helper()
	b.until(`document.querySelector(".ask")?.dataset.item`)
	return eval[string](b, `document.querySelector(".ask").dataset.item`)
}
