//go:build extra

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// demoServer serves the demonstration with a file of votes of its own.
func demoServer(t *testing.T, args ...string) *server {
	t.Helper()
	votes := strings.ReplaceAll(t.Name(), "/", "-") + ".csv"
	return serve(t, append([]string{demo(t), "--items", "demo/fresh-items.csv", "--earlier", "demo/fresh-votes.csv", "--vote-log", votes}, args...)...).ready()
}

// both runs a test at both widths.
func both(t *testing.T, f func(t *testing.T, b *tab)) {
	for name, size := range widths {
		t.Run(name, func(t *testing.T) { f(t, browse(t, size)) })
	}
}

// TestFilters narrows the items down by hand, by the figure and by the links of the overview.
func TestFilters(t *testing.T) {
	s := demoServer(t)
	both(t, func(t *testing.T, b *tab) {
		b.open(s, "items")
		b.set(`[aria-label="Probability, at least"]`, "0.8")
		b.until(`/^[\d,]+ of 4,000 items$/.test(document.querySelector(".found").innerText)`)
		want := total(t, s, "min_mean=0.8")
		if got := b.text(".found"); got != count(want)+" of 4,000 items" {
			t.Errorf("%q, the server has %d", got, want)
		}
		b.click(".filters button")
		b.until(`document.querySelector(".found").innerText === "4,000 items"`)
		b.set("#contains", "99")
		b.until(`document.querySelector(".found").innerText.startsWith("` + count(total(t, s, "contains=99")) + ` of")`)
		b.click(".filters button")
		b.run(chromedp.SetValue(chromedp.CSS("#agreement"), "2"))
		b.run(chromedp.Evaluate[chromedp.Void](`document.querySelector("#agreement").dispatchEvent(new Event("change"))`))
		b.until(`document.querySelectorAll(".legend li").length === 1`)
		if got := b.text(".legend"); !strings.HasPrefix(got, "mixed") {
			t.Errorf("the legend says %q", got)
		}
		b.click(".filters button")
		b.brush(0.1, 0.3, 0.4, 0.7)
		b.until(`!document.querySelector(".brush").hidden && / of 4,000 items$/.test(document.querySelector(".found").innerText)`)
		lo, hi := eval[float64](b, `Number(document.querySelector('[aria-label="Probability, at least"]').value)`), eval[float64](b, `Number(document.querySelector('[aria-label="Probability, at most"]').value)`)
		if !(lo > 0.05 && lo < 0.15 && hi > 0.35 && hi < 0.45) {
			t.Errorf("the brush chose %v to %v", lo, hi)
		}
		b.shot("brushed")
		b.open(s, "overview")
		b.click(`a[href*="max_top"]`)
		b.until(`document.documentElement.dataset.ready === "items"`)
		if got, want := b.text(".found"), count(total(t, s, "max_top=0.9"))+" of 4,000 items"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// set types a value into an input.
func (b *tab) set(selector, value string) {
	b.t.Helper()
	b.run(chromedp.Evaluate[chromedp.Void](`(() => { const e = document.querySelector(`+quoted(selector)+`); e.focus(); e.value = ""; })()`), chromedp.KeyEvent(value))
}

// brush drags over a part of the figure, in shares of its width and height.
func (b *tab) brush(x1, y1, x2, y2 float64) {
	b.t.Helper()
	b.run(chromedp.ScrollIntoView(chromedp.CSS("canvas")))
	type box struct{ X, Y, W, H float64 }
	r := eval[box](b, `(() => { const r = document.querySelector("canvas").getBoundingClientRect(); return {X: r.left + 46, Y: r.top + 10, W: r.width - 56, H: r.height - 48}; })()`)
	b.run(chromedp.DragAndDropXY(r.X+x1*r.W, r.Y+y1*r.H, r.X+x2*r.W, r.Y+y2*r.H, 8))
}

// total asks the server how many items pass a filter.
func total(t *testing.T, s *server, filter string) int {
	t.Helper()
	var list struct{ Total int }
	if err := json.Unmarshal([]byte(s.get("api/v1/items?limit=1&"+filter)), &list); err != nil {
		t.Fatal(err)
	}
	return list.Total
}

func count(n int) string {
	if n >= 1000 {
		return fmt.Sprintf("%d,%03d", n/1000, n%1000)
	}
	return fmt.Sprint(n)
}

// TestVoteUndoReload votes by keyboard and by touch, takes back, skips, cannot tell, and loads the page
// again: what was said is there.
func TestVoteUndoReload(t *testing.T) {
	both(t, func(t *testing.T, b *tab) {
		s := demoServer(t)
		b.name(s, "ann")
		first := b.current()
		sent := ""
		act := func(do func()) {
			t.Helper()
			before := b.current()
			do()
			b.until(`document.querySelector(".ask").dataset.item !== ` + quoted(before) + ` && (document.documentElement.dataset.sent ?? "") !== ` + quoted(sent))
			sent = eval[string](b, `document.documentElement.dataset.sent`)
		}
		act(func() { b.press("1") })
		if text := b.text(".last"); !strings.Contains(text, first+": 1") || !strings.Contains(text, "interval was") || !strings.Contains(text, "Votes so far") {
			t.Errorf("after the vote:\n%s", text)
		}
		b.shot("voted")
		second := b.current()
		act(func() { b.click(`.class[data-class="0"]`) })
		act(func() { b.press("c") }) // cannot tell
		if text := b.text(".last"); !strings.Contains(text, "cannot tell") {
			t.Errorf("after cannot tell:\n%s", text)
		}
		fourth := b.current()
		b.press("s")
		b.until(`document.querySelector(".ask").dataset.item !== ` + quoted(fourth))
		b.press("u") // the skip
		b.until(`document.querySelector(".ask").dataset.item === ` + quoted(fourth))
		b.press("u") // cannot tell
		b.press("u") // the vote on the second
		b.until(`document.querySelector(".ask").dataset.item === ` + quoted(second))
		waitVotes(t, s, 1)
		b.run(chromedp.Reload())
		b.until(`document.documentElement.dataset.ready === "queue" && document.querySelector(".ask")?.dataset.item`)
		if text := b.text(".progress"); !strings.Contains(text, "You: 1 item") {
			t.Errorf("after loading again: %q", text)
		}
		if got := b.current(); got == first {
			t.Errorf("%s is asked about again", got)
		}
		if rows := s.get("api/v1/votes/export"); rows != "item,rater,label\n"+first+",ann,1\n" {
			t.Errorf("the export is\n%s", rows)
		}
		if text := s.get("api/v1/votes/export?format=labelstudio"); !strings.Contains(text, `"email": "ann"`) {
			t.Errorf("the export is\n%s", text)
		}
		// The votes can be trained on.
		votes := strings.ReplaceAll(t.Name(), "/", "-") + ".csv"
		if text := credence(t, "check", votes); !strings.Contains(text, "1 vote") {
			t.Errorf("credence check says\n%s", text)
		}
	})
}

// waitVotes waits until the export has some votes.
func waitVotes(t *testing.T, s *server, n int) {
	t.Helper()
	for range 200 {
		if strings.Count(s.get("api/v1/votes/export"), "\n") == n+1 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("want %d votes:\n%s", n, s.get("api/v1/votes/export"))
}

// TestTwoRaters has two people vote in two tabs of one browser: neither sees the other's vote before
// her own.
func TestTwoRaters(t *testing.T) {
	s := serve(t, demo(t), "--items", "demo/fresh-items.csv", "--vote-log", "two.csv").ready()
	ann := browse(t, widths["wide"])
	ann.name(s, "ann")
	bob := ann.another(widths["phone"])
	bob.name(s, "bob")
	item := ann.current()
	ann.press("0")
	ann.until(`document.documentElement.dataset.sent`)
	bob.open(s, "items?item="+item)
	bob.until(`document.querySelector("dialog .density")`)
	if text := bob.text("dialog"); !strings.Contains(text, "are shown after you have voted") || strings.Contains(text, "before your vote") {
		t.Errorf("bob sees ann's vote:\n%s", text)
	}
	bob.click("dialog .own button:nth-child(2)")
	bob.until(`document.querySelector("dialog .votes")`)
	if text := bob.text("dialog .votes"); strings.Join(strings.Fields(text), " ") != "0 1 1 1" {
		t.Errorf("bob sees %q after his vote, want one for each class", text)
	}
	bob.screen("item")
	waitVotes(t, s, 2)
	text := s.get("api/v1/votes/export")
	if !strings.Contains(text, item+",ann,0") || !strings.Contains(text, item+",bob,1") {
		t.Errorf("the votes are\n%s", text)
	}
	ann.press("1")
	ann.until(`document.querySelector(".progress").innerText.includes("3 votes by 2 raters")`)
}

// TestDroppedConnection votes while the server is gone: the votes are kept, over a reload too, and sent
// when it is back.
func TestDroppedConnection(t *testing.T) {
	both(t, func(t *testing.T, b *tab) {
		s := demoServer(t)
		b.name(s, "ann")
		first := b.current()
		time.Sleep(500 * time.Millisecond) // the next ones are loaded ahead
		s.stop()
		b.press("0")
		b.until(`document.querySelector("#notice").innerText.includes("1 vote is stored on this device")`)
		second := b.current()
		if second == first {
			t.Error("the next item is not shown")
		}
		b.press("1")
		b.until(`document.querySelector("#notice").innerText.includes("2 votes are stored on this device")`)
		b.screen("dropped")
		s.start()
		waitVotes(t, s.ready(), 2)
		if text := s.get("api/v1/votes/export"); !strings.Contains(text, first+",ann,0") || !strings.Contains(text, second+",ann,1") {
			t.Errorf("the votes are\n%s", text)
		}
		b.until(`document.querySelector("#notice").innerText === ""`)
		b.until(`document.querySelector(".progress").innerText.includes("You: 2 items")`)
	})
}

// TestKeptOverReload closes the page before the server is back.
func TestKeptOverReload(t *testing.T) {
	s := demoServer(t)
	b := browse(t, widths["wide"])
	b.name(s, "ann")
	item := b.current()
	s.stop()
	b.press("0")
	b.until(`document.querySelector("#notice").innerText.includes("stored on this device")`)
	b.run(chromedp.Navigate("about:blank"))
	s.start()
	s.ready()
	b.open(s, "overview")
	waitVotes(t, s, 1)
	if text := s.get("api/v1/votes/export"); !strings.Contains(text, item+",ann,0") {
		t.Errorf("the votes are\n%s", text)
	}
}

// TestWhatIf imagines two more votes.
func TestWhatIf(t *testing.T) {
	s := demoServer(t)
	both(t, func(t *testing.T, b *tab) {
		b.open(s, "items")
		b.click("table.items tbody button")
		b.until(`document.querySelector("dialog .density")`)
		before := b.text("dialog .dist figcaption")
		b.click(`dialog .whatif li:nth-child(2) button:last-child`)
		b.click(`dialog .whatif li:nth-child(2) button:last-child`)
		b.until(`document.querySelector("dialog .dist figcaption").innerText.includes("Dashed: current")`)
		after := b.text("dialog .dist figcaption")
		if after == before {
			t.Errorf("two more votes change nothing: %s", after)
		}
		b.fits()
		b.screen("whatif")
		b.click(`dialog .whatif li:nth-child(2) button:first-child`)
		b.click(`dialog .whatif li:nth-child(2) button:first-child`)
		b.until(`document.querySelector("dialog .dist figcaption").innerText === ` + quoted(before))
		b.press(kb.Escape)
		b.until(`!document.querySelector("dialog")`)
	})
}

// TestToken asks for the token once.
func TestToken(t *testing.T) {
	write(t, "token", "correct horse battery\n")
	s := serve(t, demo(t), "--items", "demo/fresh-items.csv", "--vote-log", "token.csv", "--token-file", "token")
	both(t, func(t *testing.T, b *tab) {
		b.run(chromedp.Navigate(s.url()))
		b.until(`document.querySelector("dialog #token")`)
		b.set("#token", "wrong horse battery\r")
		b.until(`document.querySelector("dialog .bad").innerText !== ""`)
		b.fits()
		b.screen("token")
		b.set("#token", "correct horse battery\r")
		b.until(`document.documentElement.dataset.ready === "overview"`)
		if cookie := eval[string](b, "document.cookie"); cookie != "" {
			t.Errorf("scripts can read the cookie: %q", cookie)
		}
		b.run(chromedp.Reload())
		b.until(`document.documentElement.dataset.ready === "overview"`)
		if b.name(s, "ann"); t.Failed() {
			return
		}
		b.press("1")
		b.until(`document.documentElement.dataset.sent`)
	})
}

// TestAnotherSite has a page of another site try to cast a vote, with and without the cookie of a reader
// who is signed in.
func TestAnotherSite(t *testing.T) {
	s := demoServer(t)
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!DOCTYPE html><title>evil</title><script>
		const vote = JSON.stringify({item: "1", rater: "eve", label: "1"});
		Promise.allSettled(["text/plain", "application/x-www-form-urlencoded"].map((kind) =>
			fetch(%q, {method: "POST", mode: "no-cors", credentials: "include", headers: {"Content-Type": kind}, body: vote})))
			.then(() => { document.title = "done"; });
		</script>`, s.url()+"api/v1/votes")
	}))
	defer evil.Close()
	b := browse(t, widths["wide"])
	b.open(s, "overview")
	b.run(chromedp.Navigate(evil.URL))
	b.until(`document.title === "done"`)
	if text := s.get("api/v1/votes/export"); strings.Contains(text, "eve") {
		t.Errorf("another site cast a vote:\n%s", text)
	}
}

// TestLooks takes pictures of all views in the dark and on paper, and checks names for screen readers.
func TestLooks(t *testing.T) {
	s := demoServer(t)
	both(t, func(t *testing.T, b *tab) {
		set := func(media string, features ...*emulation.MediaFeature) {
			b.run(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
				_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: media, Features: features})
				return err
			}))
		}
		set("", &emulation.MediaFeature{Name: "prefers-color-scheme", Value: "dark"}, &emulation.MediaFeature{Name: "prefers-reduced-motion", Value: "reduce"})
		b.open(s, "overview")
		b.named()
		b.shot("dark-overview")
		b.open(s, "items")
		b.named()
		b.screen("dark-items")
		b.click("table.items tbody button")
		b.until(`document.querySelector("dialog .density")`)
		b.named()
		b.screen("dark-item")
		b.press(kb.Escape)
		b.name(s, "ann-"+b.t.Name()[len(b.t.Name())-4:])
		b.press("1")
		b.until(`document.documentElement.dataset.sent`)
		b.named()
		b.shot("dark-queue")
		set("print")
		b.open(s, "overview")
		b.shot("print")
	})
}

// named checks that everything that can be used has a name, and every figure a text.
func (b *tab) named() {
	b.t.Helper()
	bad := eval[[]string](b, `[...document.querySelectorAll("button, a, input, select, img, canvas, svg[role=img], dialog")].filter((e) => {
		if (!e.checkVisibility()) return false;
		const label = e.getAttribute("aria-label") || e.getAttribute("alt") || e.innerText || [...(e.labels ?? [])].map((l) => l.innerText).join("") || document.getElementById(e.getAttribute("aria-labelledby"))?.innerText;
		return !label?.trim();
	}).map((e) => e.outerHTML.slice(0, 120))`)
	if len(bad) > 0 {
		b.t.Errorf("without a name: %v", bad)
	}
	if n := eval[int](b, `document.querySelectorAll("h1").length`); n != 1 {
		b.t.Errorf("%d main headings", n)
	}
}
