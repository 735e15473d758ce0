//go:build extra

package e2e

import (
	"os"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestReadmePicture takes the picture of README.md, where CREDENCE_PICTURE names the file: an item of the
// demonstration after two votes.
func TestReadmePicture(t *testing.T) {
	path := os.Getenv("CREDENCE_PICTURE")
	if path == "" {
		t.Skip("CREDENCE_PICTURE names no file")
	}
	s := demoServer(t)
	b := browse(t, [2]int64{1120, 720})
	b.open(s, "items")
	b.run(chromedp.Evaluate[chromedp.Void](`scrollTo(0, 0)`))
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, png, 0o666); err != nil {
		t.Fatal(err)
	}
}
