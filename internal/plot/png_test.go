package plot

import (
	"bytes"
	"encoding/xml"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"credence/mixture"
)

func pngOf(t testing.TB, f Figure, scale float64) (image.Image, []byte) {
	t.Helper()
	var b bytes.Buffer
	if err := WritePNG(&b, f, scale); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	return img, b.Bytes()
}

// TestEveryFigureAsPNG: all figures can be drawn, and the picture of the card
// begins white and holds ink. PLOT_PNG names a folder to look at them in.
func TestEveryFigureAsPNG(t *testing.T) {
	for _, figures := range []map[string]Figure{reportFigures(), awkwardFigures()} {
		for name, f := range figures {
			img, file := pngOf(t, f, 1)
			if img.Bounds().Dx() != figureWidth || img.At(0, 0) != color.Color(color.RGBA{255, 255, 255, 255}) {
				t.Errorf("%s: %v, first pixel %v", name, img.Bounds(), img.At(0, 0))
			}
			ink := 0
			for y := range img.Bounds().Dy() {
				for x := range img.Bounds().Dx() {
					if r, _, _, _ := img.At(x, y).RGBA(); r < 0x8000 {
						ink++
					}
				}
			}
			if ink < 50 {
				t.Errorf("%s: %d dark pixels", name, ink)
			}
			if dir := os.Getenv("PLOT_PNG"); dir != "" {
				if err := os.WriteFile(filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".png"), file, 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// drawn is a figure of the elements drawn on a canvas 100 × 100.
type drawn func(c *canvas)

func (d drawn) WriteSVG(w io.Writer) error {
	var c canvas
	d(&c)
	return c.write(w, 100, 100, "", "")
}

func TestPNGElements(t *testing.T) {
	var square bytes.Buffer
	red := image.NewRGBA(image.Rect(0, 0, 1, 1))
	red.Set(0, 0, color.RGBA{255, 0, 0, 255})
	if err := png.Encode(&square, red); err != nil {
		t.Fatal(err)
	}
	img, _ := pngOf(t, drawn(func(c *canvas) {
		c.openAt(10)
		c.open(series(1))
		c.rect("solid", 10, 0, 10, 10)                          // 10 to 20 from 10 to 20
		c.rect("shade", 30, 0, 10, 10)                          // a fifth of the colour
		c.curve("curve", []point{{10, 30}, {50, 30}})           // y from 39 to 41
		c.dot(series(0)+" solid", point{60, 5}, 5)              // around (60, 15)
		c.polygon("solid", []point{{70, 0}, {90, 0}, {70, 20}}) // the corner at (70, 10)
		c.close()
		c.close()
		c.open(series(1) + " dashed")
		c.curve("curve", []point{{0, 60}, {100, 60}})
		c.close()
		c.picture(square.Bytes(), 10, 70, 20, 20)
	}), 2)
	series1, series0 := rgba(light.series[1], 1), rgba(light.series[0], 1)
	white := color.RGBA{255, 255, 255, 255}
	fifth := color.RGBA{uint8(255 - (255-int(series1.R))/5), uint8(255 - (255-int(series1.G))/5), uint8(255 - (255-int(series1.B))/5), 255}
	for _, c := range []struct {
		what string
		x, y float64 // in units of the figure
		want color.RGBA
	}{
		{"inside the rectangle", 15, 15, series1}, {"outside of it", 25, 15, white},
		{"shade", 35, 15, fifth},
		{"line", 30, 40, series1}, {"below the line", 30, 42, white}, {"past its end", 52, 40, white},
		{"dot", 60, 15, series0}, {"corner of the dot's box", 55.5, 10.5, white},
		{"polygon", 72, 12, series1}, {"beyond its slope", 88, 28, white},
		{"first dash", 3, 60, series1}, {"first gap", 8, 60, white}, {"second dash", 13, 60, series1},
		{"picture", 20, 80, color.RGBA{255, 0, 0, 255}},
	} {
		r, g, b, _ := img.At(int(2*c.x), int(2*c.y)).RGBA()
		for i, pair := range [][2]uint32{{r >> 8, uint32(c.want.R)}, {g >> 8, uint32(c.want.G)}, {b >> 8, uint32(c.want.B)}} {
			if math.Abs(float64(pair[0])-float64(pair[1])) > 2 {
				t.Errorf("%s at (%v, %v): part %d is %d, want %d", c.what, c.x, c.y, i, pair[0], pair[1])
			}
		}
	}
}

func TestPNGIsRepeatable(t *testing.T) {
	m, err := mixture.NewBeta([]float64{0.5, 0.5}, []float64{3, 30}, []float64{25, 4})
	if err != nil {
		t.Fatal(err)
	}
	f := Density{Title: "Two modes", Curves: []Curve{{"both", m}}}
	_, a := pngOf(t, f, 1.5)
	_, b := pngOf(t, f, 1.5)
	if !bytes.Equal(a, b) {
		t.Error("two drawings of a figure differ")
	}
}

// TestTextFits: the fonts of the pictures are no wider than the estimate from
// which figures are laid out.
func TestTextFits(t *testing.T) {
	var f face
	for name, fig := range reportFigures() {
		dec := xml.NewDecoder(bytes.NewReader(svg(t, fig)))
		class := ""
		for {
			token, err := dec.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			switch e := token.(type) {
			case xml.StartElement:
				class = ""
				if e.Name.Local == "text" {
					class = e.Attr[0].Value
				}
			case xml.EndElement:
				class = ""
			case xml.CharData:
				if class == "" {
					continue
				}
				heavy := strings.Contains(class, "title")
				_, wide, err := f.glyphs(string(e), textSize, heavy)
				if err != nil {
					t.Fatal(err)
				}
				if most := textWidth(string(e), textSize); wide > most+1.5 {
					t.Errorf("%s: %q is %.1f wide, estimated %.1f", name, e, wide, most)
				}
			}
		}
	}
	// Every rune that figures use has a glyph of its own, or is made of one.
	font, err := regular()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range "×…±μψσαβ√%≥≤−–∞" + plainRunes {
		if i, err := font.GlyphIndex(&f.buffer, r); i == 0 || err != nil {
			t.Errorf("%q has no glyph: %v", r, err)
		}
	}
}

func TestPNGErrors(t *testing.T) {
	for _, c := range []struct {
		f     Figure
		scale float64
		want  string
	}{
		{Coverage{}, 1, "coverage figure: no points"},
		{coverageCurves(), 0, "figure as PNG: scale 0, want more than 0 and at most 8"},
	} {
		var b bytes.Buffer
		if err := WritePNG(&b, c.f, c.scale); err == nil || err.Error() != c.want || b.Len() > 0 {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}
