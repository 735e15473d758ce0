//go:build !full && !cuda

package onnxruntime

import (
	"errors"
	"testing"
)

// The static build says that it loads no library.
func TestStatic(t *testing.T) {
	if _, err := Open("", []byte("x")); !errors.Is(err, ErrBuild) {
		t.Error(err)
	}
	if _, err := Start([]string{"/nowhere"}, "", []byte("x"), 0); !errors.Is(err, ErrBuild) {
		t.Error(err)
	}
}
