// Package onnxruntime runs graphs in ONNX files with the library of ONNX Runtime, on the CPU. It is the one place where
// something other than Go computes.
//
// The library is loaded by purego, which makes a program dynamically linked. So only a build with the tag full can load it;
// in any other, [Open] and [Start] fail with [ErrBuild].
//
// A [Session] runs in this process, a [Worker] in a child process, which a hostile graph may crash without harm. Both run
// each item by itself in one thread, several at a time: a result depends on the item alone, not on the batch
// or the number of cores.
package onnxruntime

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"credence/internal/par"
)

// ErrBuild is the error of a build that loads no library.
var ErrBuild = errors.New("this build does not load ONNX Runtime: it is the static one; credence-full, built with -tags full, does")

// ErrNoLibrary is the error if the library cannot be loaded.
var ErrNoLibrary = errors.New("the library of ONNX Runtime cannot be loaded")

// ErrExternal is the error of a graph whose weights are in another file.
var ErrExternal = errors.New("expected a graph with its weights in the same file, found external data")

// Type is the type of the elements of a tensor.
type Type int32

// The types that are used here, with their numbers in ONNX.
const (
	Float32 Type = 1
	Int32   Type = 6
	Int64   Type = 7
)

var typeNames = map[Type]string{Float32: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", Int32: "int32", Int64: "int64", 8: "text", 9: "boolean",
	10: "float16", 11: "float64", 12: "uint32", 13: "uint64", 16: "bfloat16"}

// String returns the name of the type.
func (t Type) String() string {
	if name := typeNames[t]; name != "" {
		return name
	}
	return fmt.Sprintf("type %d", int32(t))
}

// size returns the number of bytes of an element, 0 for types that are not used here.
func (t Type) size() int64 { return map[Type]int64{Float32: 4, Int32: 4, Int64: 8}[t] }

// Value is an input or output of a graph.
type Value struct {
	Name  string  `json:"name"`
	Type  Type    `json:"type"`  // 0 if it is not a tensor
	Shape []int64 `json:"shape"` // −1 for a dimension that is not fixed
}

// Graph describes the inputs and outputs of a graph.
type Graph struct {
	Inputs  []Value `json:"inputs"`
	Outputs []Value `json:"outputs"`
}

// Tensor is an array in the byte order of the processor.
type Tensor struct {
	Shape []int64
	Data  []byte
}

// elements returns the number of elements of a shape, or −1 if it has none that fits into memory.
func elements(shape []int64) int64 {
	n := int64(1)
	for _, s := range shape {
		if s < 0 || s > 0 && n > math.MaxInt32*64/s {
			return -1
		}
		n *= s
	}
	return n
}

// Runner runs a graph.
type Runner interface {
	Graph() Graph
	// Run returns the output with a name for each item, whose tensors are in the order of the inputs of the graph.
	Run(ctx context.Context, output string, items [][]Tensor) ([]Tensor, error)
	Close() error
}

// Session is a graph that runs in this process.
type Session struct {
	*library
	graph  Graph
	handle uintptr
	memory uintptr // description of the memory of tensors
	model  []byte  // which the library may refer to
}

var (
	loaded   = map[string]*library{}
	loadedMu sync.Mutex
	env      = map[*library]uintptr{} // one per library, as it requires
)

// loadLibrary loads the library at path, or at the place where it is usually installed, once.
func loadLibrary(path string) (*library, uintptr, error) {
	loadedMu.Lock()
	defer loadedMu.Unlock()
	path, err := find(path)
	if err != nil {
		return nil, 0, err
	}
	if l := loaded[path]; l != nil {
		return l, env[l], nil
	}
	api, version, err := load(path)
	if errors.Is(err, ErrBuild) {
		return nil, 0, err
	}
	if err != nil {
		return nil, 0, notFound(path, err)
	}
	l := &library{api, version}
	var handle uintptr
	const fatal = 4 // other messages are returned as errors
	if err := l.call(createEnv, fatal, uintptr(unsafe.Pointer(cText("credence"))), uintptr(unsafe.Pointer(&handle))); err != nil {
		return nil, 0, notFound(path, err)
	}
	_ = l.call(disableTelemetryEvents, handle)
	loaded[path], env[l] = l, handle
	return l, handle, nil
}

// Open loads the library at path, found where it is usually installed if that is "", and the graph in model, the content of
// an ONNX file.
func Open(path string, model []byte) (*Session, error) {
	if len(model) == 0 {
		return nil, errors.New("expected an ONNX graph, found an empty file")
	}
	l, env, err := loadLibrary(path)
	if err != nil {
		return nil, err
	}
	s := &Session{library: l, model: model}
	var options uintptr
	if err := l.call(createSessionOptions, uintptr(unsafe.Pointer(&options))); err != nil {
		return nil, err
	}
	defer l.release(releaseSessionOptions, options)
	const one, arena, standard = 1, 1, 0 // a thread, and the kinds of allocator and memory
	for _, f := range []func() error{
		func() error { return l.call(setIntraOpNumThreads, options, one) },
		func() error { return l.call(setInterOpNumThreads, options, one) },
		func() error {
			return l.call(createSessionFromArray, env, uintptr(unsafe.Pointer(&model[0])), uintptr(len(model)), options, uintptr(unsafe.Pointer(&s.handle)))
		},
		func() error { return l.call(createCPUMemoryInfo, arena, standard, uintptr(unsafe.Pointer(&s.memory))) },
		s.describe,
	} {
		if err := f(); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// Version returns the version of the library.
func (s *Session) Version() string { return s.version }

// Graph returns the inputs and outputs.
func (s *Session) Graph() Graph { return s.graph }

// Close frees the graph.
func (s *Session) Close() error {
	if s.handle != 0 {
		s.release(releaseSession, s.handle)
		s.handle = 0
	}
	return nil
}

// describe reads the inputs and outputs of the graph.
func (s *Session) describe() (err error) {
	if s.graph.Inputs, err = s.values(sessionGetInputCount, sessionGetInputName, sessionGetInputTypeInfo); err != nil {
		return err
	}
	s.graph.Outputs, err = s.values(sessionGetOutputCount, sessionGetOutputName, sessionGetOutputTypeInfo)
	return err
}

func (s *Session) values(count, name, info function) ([]Value, error) {
	var n, allocator uintptr
	if err := s.call(count, s.handle, uintptr(unsafe.Pointer(&n))); err != nil {
		return nil, err
	}
	if err := s.call(getAllocatorWithDefaultOptions, uintptr(unsafe.Pointer(&allocator))); err != nil {
		return nil, err
	}
	list := make([]Value, n)
	for i := range list {
		var text, typeInfo, tensor uintptr
		if err := s.call(name, s.handle, uintptr(i), allocator, uintptr(unsafe.Pointer(&text))); err != nil {
			return nil, err
		}
		list[i].Name = textAt(text)
		_ = s.call(allocatorFree, allocator, text)
		if err := s.call(info, s.handle, uintptr(i), uintptr(unsafe.Pointer(&typeInfo))); err != nil {
			return nil, err
		}
		err := s.call(castTypeInfoToTensorInfo, typeInfo, uintptr(unsafe.Pointer(&tensor)))
		if err == nil && tensor != 0 {
			list[i].Type, list[i].Shape, err = s.typeAndShape(tensor)
		}
		s.release(releaseTypeInfo, typeInfo)
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// typeAndShape reads the description of a tensor.
func (s *Session) typeAndShape(info uintptr) (t Type, shape []int64, err error) {
	var n uintptr
	if err := s.call(getTensorElementType, info, uintptr(unsafe.Pointer(&t))); err != nil {
		return t, nil, err
	}
	if err := s.call(getDimensionsCount, info, uintptr(unsafe.Pointer(&n))); err != nil {
		return t, nil, err
	}
	shape = make([]int64, n+1) // so that there is a first one to point to
	err = s.call(getDimensions, info, uintptr(unsafe.Pointer(&shape[0])), n)
	return t, shape[:n], err
}

// Run implements [Runner]. Items run on all cores.
func (s *Session) Run(ctx context.Context, output string, items [][]Tensor) ([]Tensor, error) {
	if !slices.ContainsFunc(s.graph.Outputs, func(v Value) bool { return v.Name == output }) {
		return nil, fmt.Errorf("the graph has no output %q", output)
	}
	out, errs := make([]Tensor, len(items)), make([]error, len(items))
	par.For(len(items), func(i int) {
		if errs[i] = ctx.Err(); errs[i] == nil {
			out[i], errs[i] = s.one(output, items[i])
		}
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// one runs the graph for one item.
func (s *Session) one(output string, inputs []Tensor) (out Tensor, err error) {
	in := s.graph.Inputs
	if len(inputs) != len(in) {
		return out, fmt.Errorf("expected %d inputs, found %d", len(in), len(inputs))
	}
	var pins runtime.Pinner // for what the library reads through pointers to pointers
	defer pins.Unpin()
	names, values := make([]*byte, len(in)), make([]uintptr, len(in))
	defer func() {
		for _, v := range values {
			s.release(releaseValue, v)
		}
	}()
	for i, t := range inputs {
		size := in[i].Type.size()
		if n := elements(t.Shape); n <= 0 || size == 0 || int64(len(t.Data)) != n*size {
			return out, fmt.Errorf("input %q: expected %v of shape %v, found %d bytes", in[i].Name, in[i].Type, t.Shape, len(t.Data))
		}
		names[i] = cText(in[i].Name)
		pins.Pin(names[i])
		pins.Pin(&t.Data[0])
		if err := s.call(createTensorWithDataAsOrtValue, s.memory, uintptr(unsafe.Pointer(&t.Data[0])), uintptr(len(t.Data)), uintptr(unsafe.Pointer(&t.Shape[0])),
			uintptr(len(t.Shape)), uintptr(in[i].Type), uintptr(unsafe.Pointer(&values[i]))); err != nil {
			return out, err
		}
	}
	name := cText(output)
	pins.Pin(name)
	var result uintptr
	if err := s.call(run, s.handle, 0, uintptr(unsafe.Pointer(&names[0])), uintptr(unsafe.Pointer(&values[0])), uintptr(len(values)),
		uintptr(unsafe.Pointer(&name)), 1, uintptr(unsafe.Pointer(&result))); err != nil {
		return out, err
	}
	defer s.release(releaseValue, result)
	return s.copyOut(output, result)
}

// copyOut returns a copy of an output, which must be of float32.
func (s *Session) copyOut(name string, value uintptr) (out Tensor, err error) {
	var info, data uintptr
	if err := s.call(getTensorTypeAndShape, value, uintptr(unsafe.Pointer(&info))); err != nil {
		return out, err
	}
	defer s.release(releaseTensorTypeAndShapeInfo, info)
	t, shape, err := s.typeAndShape(info)
	if err != nil {
		return out, err
	}
	n := elements(shape)
	if t != Float32 || n < 1 {
		return out, fmt.Errorf("output %q: expected float32, found %v of shape %v", name, t, shape)
	}
	if err := s.call(getTensorMutableData, value, uintptr(unsafe.Pointer(&data))); err != nil {
		return out, err
	}
	return Tensor{shape, slices.Clone(unsafe.Slice((*byte)(foreign(data)), n*4))}, nil
}
