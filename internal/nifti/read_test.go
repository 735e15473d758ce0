package nifti

import "bytes"

// decode reads a single file held in memory.
func decode(b []byte) (*Volume, error) {
	s, err := newSource("x.nii", bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	h, err := s.header()
	if err != nil {
		return nil, err
	}
	return s.volume(h)
}
