package figures

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"credence/internal/plot"
	"credence/internal/words"
)

// Layers is a figure of a network: the data between layers as boxes, the larger
// the more places they have, and the operations above the arrows.
type Layers struct {
	Title  string
	Stages []Stage
}

// Stage is the data in a network after some of its layers; the first is its
// input.
type Stage struct {
	Done  []string // operations on the previous stage, a line each
	Shape []int    // channels, then the spatial sizes, if any
	Name  string   // written below the shape
}

const (
	layersHeight = 150.0 // of the boxes' band
	layersArrow  = 74.0
	boxDepth     = 0.35 // of a cube's side, seen at an angle
)

// Draw implements [plot.Figure].
func (d Layers) Draw(c *plot.Canvas) error {
	if len(d.Stages) < 2 {
		return errors.New("fewer than two stages")
	}
	for _, s := range d.Stages {
		for _, n := range s.Shape {
			if n < 1 {
				return fmt.Errorf("stage %q has the shape %v", s.Name, s.Shape)
			}
		}
		if len(s.Shape) == 0 {
			return fmt.Errorf("stage %q has no shape", s.Name)
		}
	}
	c.Begin(d.Title, nil, plot.HeaderGap)
	column := (plot.FigureWidth - 2*plot.Margin - layersArrow*float64(len(d.Stages)-1)) / float64(len(d.Stages))
	if column < 40 {
		return fmt.Errorf("%d stages do not fit", len(d.Stages))
	}
	largest, lines := 0.0, 0
	for _, s := range d.Stages {
		largest, lines = max(largest, side(s.Shape)), max(lines, len(s.Done))
	}
	// Operations are written above the middle, next to the boxes.
	room := max(0, float64(lines)*14+12-layersHeight/2)
	mid := room + layersHeight/2
	var about []string
	for i, s := range d.Stages {
		x := plot.Margin + float64(i)*(column+layersArrow)
		if i > 0 {
			drawStep(c, x-layersArrow, x, mid, s.Done)
		}
		c.Open(plot.Series(min(i, 1) + i/(len(d.Stages)-1)))
		drawBox(c, s.Shape, xy(x+column/2, mid), column, side(s.Shape)/largest)
		c.Close()
		under := room + layersHeight + 8
		wide := min(column+layersArrow, 2*x+column, 2*(plot.FigureWidth-x)-column) - 8
		c.Text("tick middle", xy(x+column/2, under), plot.Fit(shapeText(s.Shape), plot.TickSize, wide))
		c.Text("tick middle", xy(x+column/2, under+15), plot.Fit(s.Name, plot.TickSize, wide))
		about = append(about, s.Name+" "+shapeText(s.Shape))
	}
	return c.Finish(room+layersHeight+48-plot.Margin, d.Title, strings.Join(about, "; ")+".")
}

// side is the length of a cube with as many places as a shape: the scale on
// which stages are compared.
func side(shape []int) float64 {
	if len(shape) == 1 {
		return math.Cbrt(float64(shape[0]))
	}
	places := 1
	for _, n := range shape[1:] {
		places *= n
	}
	return math.Cbrt(float64(places))
}

// shapeText writes a shape as 16 × 18·18·15.
func shapeText(shape []int) string {
	if len(shape) == 1 {
		return strconv.Itoa(shape[0])
	}
	return fmt.Sprintf("%d × %s", shape[0], strings.Join(words.Each(shape[1:], strconv.Itoa), "·"))
}

// drawBox draws a shape around a place: a bar for a list of numbers, a cuboid
// for a volume. Its side is a share of the column, but never too small to see.
func drawBox(c *plot.Canvas, shape []int, at plot.Point, column, share float64) {
	if len(shape) == 1 {
		high := max(30, layersHeight*0.75*min(1, math.Log1p(float64(shape[0]))/8))
		c.Rect("shade", at.X-7, at.Y-high/2, 14, high)
		c.Curve("curve", []plot.Point{xy(at.X-7, at.Y-high/2), xy(at.X+7, at.Y-high/2),
			xy(at.X+7, at.Y+high/2), xy(at.X-7, at.Y+high/2), xy(at.X-7, at.Y-high/2)})
		return
	}
	s := max(14, (min(column, layersHeight)-4)*share/(1+boxDepth))
	q := s * boxDepth
	left, up := at.X-(s+q)/2, at.Y-(s+q)/2+q
	front := []plot.Point{xy(left, up), xy(left+s, up), xy(left+s, up+s), xy(left, up+s)}
	back := func(p plot.Point) plot.Point { return xy(p.X+q, p.Y-q) }
	c.Polygon("shade", front)
	c.Polygon("shade", []plot.Point{front[0], front[1], back(front[1]), back(front[0])})
	c.Polygon("shade", []plot.Point{front[1], front[2], back(front[2]), back(front[1])})
	c.Curve("curve", append(front, front[0]),
		[]plot.Point{front[0], back(front[0]), back(front[1]), front[1]},
		[]plot.Point{back(front[1]), back(front[2]), front[2]})
}

// drawStep draws an arrow with the operations above it.
func drawStep(c *plot.Canvas, from, to, y float64, done []string) {
	c.Open("muted")
	c.Curve("curve", []plot.Point{xy(from+8, y), xy(to-10, y)})
	c.Polygon("solid", []plot.Point{xy(to-4, y), xy(to-13, y-4.5), xy(to-13, y+4.5)})
	c.Close()
	for k, line := range done {
		c.Text("tick middle", xy((from+to)/2, y-12-14*float64(len(done)-1-k)), line)
	}
}
