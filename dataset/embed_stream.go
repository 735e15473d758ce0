package dataset

import (
	"credence/internal/backbone"
	"credence/internal/table"
)

// streamVectors are the vectors that a backbone makes of the items of a stream, a batch at a time.
type streamVectors struct {
	of    *Backbone
	in    *pictures // of the images that a table names; nil if there are none
	paths []string  // of the images of the current batch
}

// newVectors returns the vectors of a stream of items with the given features.
func (s *Stream) newVectors() {
	s.vectors = &streamVectors{of: s.opts.backbone()}
}

// pictureOf returns a function that fills in the vector of an image: the one at a path, when its batch has been computed, or
// the list of numbers in the cell itself.
func (s *Stream) pictureOf(cell *table.Cell, path string) (func(dst []float32) error, error) {
	if cell.Kind == table.VectorCell {
		if len(cell.Vec) != s.grid.Width() {
			return nil, s.t.ErrorAt(s.image, "expected a path or a vector of %d numbers, found %d", s.grid.Width(), len(cell.Vec))
		}
		vec := append([]float32(nil), cell.Vec...)
		return func(dst []float32) error { copy(dst, vec); return nil }, nil
	}
	v := s.vectors
	v.paths = append(v.paths, path)
	return func(dst []float32) error { return v.in.read(path, dst) }, nil
}

// embed computes the vectors of a batch: those of its images, which rows then read, and those of its texts, which it fills in.
func (s *Stream) embed(schema []Feature, m *Memory) error {
	if s.f != nil && s.f.pictures != nil {
		r := s.f.pictures
		if err := r.in.prepare(s.ctx, r.paths[s.row-m.N:s.row]); err != nil {
			return err
		}
	}
	if s.vectors == nil {
		return nil
	}
	if v := s.vectors; len(v.paths) > 0 {
		b, err := v.of.open(s.ctx, &s.grid)
		if err != nil {
			return err
		}
		v.in = &pictures{b: b, p: &s.grid, decoding: s.decoding}
		if err := v.in.prepare(s.ctx, v.paths); err != nil {
			return err
		}
		v.paths = v.paths[:0]
	}
	at := 0
	for i := range s.features {
		p := &schema[i]
		w := p.Width()
		if p.Kind == Text && p.Embedding != nil {
			b, err := s.vectors.of.open(s.ctx, p)
			if err != nil {
				return err
			}
			text := func(i int) (backbone.Input, error) { return backbone.Text(p.Texts[i]), nil }
			vectors, err := embedAll(s.ctx, b, len(p.Texts), &FeatureOptions{Memory: s.opts.Memory}, text)
			if err != nil {
				return err
			}
			for r := range m.N {
				if err := fillVector(m.Values[r*m.W+at:r*m.W+at+w], vectors.N, vectors.ReadRow); err != nil {
					return err
				}
			}
		}
		at += w
	}
	return nil
}

// Close ends the backbone, if the stream has started it.
func (v *streamVectors) Close() error {
	if v == nil {
		return nil
	}
	return v.of.release()
}
