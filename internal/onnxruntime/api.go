package onnxruntime

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"
)

// function is the place of a function in the table of the C API (struct OrtApi of onnxruntime_c_api.h).
type function int

const (
	getErrorMessage                function = 2
	createEnv                      function = 3
	disableTelemetryEvents         function = 6
	createSessionFromArray         function = 8
	run                            function = 9
	createSessionOptions           function = 10
	setIntraOpNumThreads           function = 24
	setInterOpNumThreads           function = 25
	sessionGetInputCount           function = 30
	sessionGetOutputCount          function = 31
	sessionGetInputTypeInfo        function = 33
	sessionGetOutputTypeInfo       function = 34
	sessionGetInputName            function = 36
	sessionGetOutputName           function = 37
	createTensorWithDataAsOrtValue function = 49
	getTensorMutableData           function = 51
	castTypeInfoToTensorInfo       function = 55
	getTensorElementType           function = 60
	getDimensionsCount             function = 61
	getDimensions                  function = 62
	getTensorTypeAndShape          function = 65
	createCPUMemoryInfo            function = 69
	allocatorFree                  function = 76
	getAllocatorWithDefaultOptions function = 78
	releaseStatus                  function = 93
	releaseSession                 function = 95
	releaseValue                   function = 96
	releaseTypeInfo                function = 98
	releaseTensorTypeAndShapeInfo  function = 99
	releaseSessionOptions          function = 100
)

// library is the table of functions of a loaded library.
type library struct {
	api     uintptr
	version string
}

// at returns the address of a function.
func (l *library) at(f function) uintptr { return pointerAt(l.api, int(f)) }

// call calls a function that returns a status, and turns it into an error.
//
//go:uintptrescapes
func (l *library) call(f function, args ...uintptr) error {
	status := invoke(l.at(f), args...)
	if status == 0 {
		return nil
	}
	text := textAt(invoke(l.at(getErrorMessage), status))
	invoke(l.at(releaseStatus), status)
	// A graph in memory needs a file only for weights that it does not contain.
	if strings.Contains(strings.ToLower(text), "external") || strings.Contains(text, "filesystem error") || strings.Contains(text, "No such file") {
		return fmt.Errorf("%w: %s", ErrExternal, text)
	}
	return errors.New(text)
}

// release calls a function that frees an object and returns nothing.
func (l *library) release(f function, object uintptr) { invoke(l.at(f), object) }

// pointerAt returns the i-th pointer of a table in memory of the library, which the garbage collector does not know.
func pointerAt(table uintptr, i int) uintptr {
	return *(*uintptr)(unsafe.Add(foreign(table), uintptr(i)*unsafe.Sizeof(table)))
}

// textAt returns a copy of a text of C.
func textAt(at uintptr) string {
	if at == 0 {
		return ""
	}
	p := (*byte)(foreign(at))
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// foreign returns an address in memory of the library as a pointer. Reading it through another pointer keeps vet from
// taking it for one into memory of Go.
func foreign(at uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&at)) }

// cText returns a text with the zero byte that ends it in C.
func cText(s string) *byte { return &append([]byte(s), 0)[0] }
