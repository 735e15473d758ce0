package nn

// Flatten turns any shape into one length. The values stay where they are.
type Flatten struct{}

// Build implements [Layer].
func (l *Flatten) Build(_ *Builder, in Shape) (Shape, error) { return Shape{in.Size()}, nil }

// Forward implements [Layer].
func (l *Flatten) Forward(_ *Pass, y, x []float32) { copy(y, x) }

// Backward implements [Layer].
func (l *Flatten) Backward(_ *Pass, dx, dy, _, _ []float32) {
	if dx != nil {
		copy(dx, dy)
	}
}
