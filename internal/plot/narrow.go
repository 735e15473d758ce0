package plot

// narrowWidth is that of a card on a phone, where a card of the usual width would be
// shrunk until nobody can read it.
const narrowWidth = 350

// Responsive is a figure that can be drawn for a phone, too.
type Responsive interface {
	Figure
	// Narrow returns the figure with a card for a phone.
	Narrow() Figure
}

// Narrow implements [Responsive].
func (d Comparison) Narrow() Figure { d.Width = narrowWidth; return d }

// Narrow implements [Responsive].
func (d Histogram) Narrow() Figure { d.Width = narrowWidth; return d }

// Narrow implements [Responsive].
func (d Scatter) Narrow() Figure { d.Width = narrowWidth; return d }

// Narrow implements [Responsive].
func (d Training) Narrow() Figure { d.Width = narrowWidth; return d }

// Narrow implements [Responsive].
func (d Density) Narrow() Figure { d.Width = narrowWidth; return d }

// Narrow implements [Responsive].
func (d Bars) Narrow() Figure { d.Width = narrowWidth; return d }

// Narrow implements [Responsive].
func (d Lines) Narrow() Figure { d.Width = narrowWidth; return d }

// Narrow implements [Responsive].
func (d Forest) Narrow() Figure { d.Width = narrowWidth; return d }
