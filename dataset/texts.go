package dataset

import (
	"fmt"
	"hash/fnv"
	"io"
	"math"
)

const (
	// longText is how many bytes of a cell tell it from others before it is clear
	// that it is no category.
	longText = 4096
	// maxTexts bounds the texts of a column: their places are kept as float32.
	maxTexts = 1 << 24
)

// level returns what tells a cell from others. Of long ones no more is kept than
// a hash, and the column cannot be one of categories any more.
func (c *columnScan) level(cell string) string {
	if c.fixed || len(cell) <= longText {
		return cell
	}
	c.long++
	h := fnv.New128a()
	io.WriteString(h, cell)
	return string(h.Sum(nil))
}

// prose reports whether a column holds sentences, most of them different: not
// the same few answers again and again, nor names or codes.
func (c *columnScan) prose() bool {
	n := c.numbers + c.texts
	return c.texts*10 >= n*9 && c.sentences*2 >= c.texts && len(c.levels)*2 > n
}

// textAt returns the place among n texts that a raw value stands for.
func textAt(x float32, n int) (int, error) {
	if !(x >= 0 && int(x) < n) || x != float32(int(x)) {
		return 0, fmt.Errorf("%v is not the place of one of %d texts", x, n)
	}
	return int(x), nil
}

// hashTexts hashes the texts of a raw row, and takes their places out of it,
// which depend on how the data were read.
func hashTexts(h io.Writer, parts []Part, row []float32) error {
	at := 0
	for _, p := range parts {
		if p.Kind == Text && row[at] == row[at] {
			i, err := textAt(row[at], len(p.Texts))
			if err != nil {
				return fmt.Errorf("feature %q: %w", p.Name, err)
			}
			fmt.Fprintf(h, "%d:%s\n", len(p.Texts[i]), p.Texts[i])
			row[at] = 0
		}
		at += p.Width()
	}
	return nil
}

// document writes the logits of the text at place x, those of item i.
func (b *binding) document(to []float32, x float32, i int) error {
	p := b.p
	clear(to)
	if x != x {
		if p.Missing {
			to[len(p.Mean)] = 1
		}
		return nil
	}
	at, err := textAt(x, len(b.texts))
	if err != nil {
		return fmt.Errorf("feature %q: %w", p.Name, err)
	}
	c := len(p.Mean)
	if b.held != nil && b.held[i*c] == b.held[i*c] {
		copy(to, b.held[i*c:(i+1)*c])
	} else {
		z := make([]float64, c)
		p.model().Logits(z, b.texts[at])
		for k, v := range z {
			to[k] = float32(v)
		}
	}
	for k := range c {
		to[k] = standardize(to[k], p.Mean[k], p.SD[k])
	}
	return nil
}

// leastSpread is what logits are divided by at least: they have a scale of their
// own, and what hardly differs shall not be blown up.
const leastSpread = 0.25

// center fits mean and standard deviation to logits [n × c], NaN where there are
// none.
func (p *fitted) center(z []float32) {
	c := len(p.Mean)
	for k := range c {
		var n, sum, squares float64
		for i := k; i < len(z); i += c {
			if v := float64(z[i]); v == v {
				n, sum, squares = n+1, sum+v, squares+v*v
			}
		}
		p.Mean[k], p.SD[k] = 0, 1
		if n > 0 {
			p.Mean[k] = sum / n
			p.SD[k] = max(leastSpread, math.Sqrt(max(0, squares/n-sum/n*sum/n)))
		}
	}
}
