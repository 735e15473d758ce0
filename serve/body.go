package serve

import (
	"io"
	"net/http"
	"slices"
)

// firstBytes is how much memory a body gets before any of it has come.
const firstBytes = 64 << 10

// body reads the body, which is bounded. Memory is taken as bytes come in, whatever length the client
// announces, and from what all requests share.
func (s *Server) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	plain, err := s.plain(w, r)
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	size := int64(firstBytes)
	if n := r.ContentLength; n >= 0 && n < size {
		size = n + 1 // and the end is seen without further room
	}
	var b []byte
	for {
		if len(b) == cap(b) {
			if err := s.hold(w, size); err != nil {
				// A client that is still sending would see a broken connection instead of the answer.
				_, _ = io.Copy(io.Discard, plain)
				return nil, err
			}
			b = slices.Grow(b, int(size))
			size = int64(cap(b)) // doubled the next time
		}
		n, err := plain.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			if r.ContentLength > int64(len(b)) && r.Header.Get("Content-Encoding") == "" {
				return nil, io.ErrUnexpectedEOF
			}
			return b, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// hold takes n bytes of the memory that bodies and answers share, until the request ends.
func (s *Server) hold(w http.ResponseWriter, n int64) error {
	if s.held.Add(n) > s.options.Limits.Memory {
		s.held.Add(-n)
		return failf(http.StatusServiceUnavailable,
			"requests at work fill the memory they share, %d bytes (credence serve --max-memory)", s.options.Limits.Memory)
	}
	w.(*recorder).held += n
	return nil
}
