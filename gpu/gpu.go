// Package gpu runs networks on NVIDIA GPUs:
//
//	engine, err := gpu.Open(gpu.All)
//	if err != nil {
//		engine = nn.CPU{} // no GPU here
//	}
//	fitted, err := train.Fit(ctx, ds, train.Options{Engine: engine})
//
// A program has GPUs if it is built with -tags cuda, on Linux; it then needs the driver and nothing else. In any other
// build [Open] returns [ErrBuild].
package gpu

import (
	"credence/internal/cuda"
	"credence/internal/gpu"
	"credence/nn"
)

// All selects all GPUs: each network of an ensemble runs on one of them.
const All = -1

var (
	// ErrBuild is the error of [Open] in a build without GPUs.
	ErrBuild = cuda.ErrBuild
	// ErrNoDevice is the error of [Open] if there is no driver or no GPU, or none with that number.
	ErrNoDevice = cuda.ErrNoDevice
)

// Open returns the engine of the GPU with the number that nvidia-smi shows, or of [All].
func Open(number int) (nn.Engine, error) {
	e, err := gpu.Open(number)
	if err != nil {
		return nil, err
	}
	return e, nil
}
