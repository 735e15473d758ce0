//go:build extra

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestReportPhone opens a report at 390 pixels: nothing sticks out, and no column of text has a word per line.
func TestReportPhone(t *testing.T) {
	b := browse(t, widths["phone"])
	b.run(chromedp.Navigate("file://" + filepath.Join(dir, demo(t), "report.html")))
	b.until(`document.readyState === "complete"`)
	b.shot("phone")
	b.fits()
	// Cells of at least four words whose lines have fewer than two words each.
	for _, text := range eval[[]string](b, `[...document.querySelectorAll("th, td")].filter((e) => {
		const words = e.innerText.trim().split(/\s+/).length, r = document.createRange();
		if (words < 4 || !e.checkVisibility()) return false;
		r.selectNodeContents(e);
		const lines = new Set([...r.getClientRects()].map((x) => Math.round(x.top))).size;
		return words / lines < 2;
	}).map((e) => e.innerText)`) {
		t.Errorf("a column of single words: %q", text)
	}
}

// TestReportPaper prints a report: no page ends with a heading, or with a heading and a line below it.
func TestReportPaper(t *testing.T) {
	exe := os.Getenv("CREDENCE_PYTHON")
	if exe == "" {
		exe = "python3"
	}
	if err := exec.Command(exe, "-c", "import pypdf").Run(); err != nil {
		t.Skip(exe + " has no pypdf")
	}
	b := browse(t, widths["wide"])
	b.run(chromedp.Navigate("file://" + filepath.Join(dir, demo(t), "report.html")))
	headings := eval[[]string](b, `[...document.querySelectorAll("h2, h3")].map((e) => e.innerText.trim())`)
	pdf, err := chromedp.Run(b.ctx, chromedp.PrintToPDF())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "report.pdf")
	if err := os.WriteFile(path, pdf, 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(exe, "-c", `import pypdf, sys
for p in pypdf.PdfReader(sys.argv[1]).pages:
    lines = [l.strip() for l in p.extract_text().split("\n") if l.strip()]
    print("\t".join(lines[-2:]))`, path).Output()
	if err != nil {
		t.Fatal(err)
	}
	pages := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(pages) < 8 || len(headings) < 10 {
		t.Fatalf("%d pages, %d headings", len(pages), len(headings))
	}
	for i, last := range pages {
		for _, line := range strings.Split(last, "\t") {
			if slices.Contains(headings, line) {
				t.Errorf("page %d ends with the heading %q", i+1, line)
			}
		}
	}
}
