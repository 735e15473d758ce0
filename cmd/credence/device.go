package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"credence/dataset"
	"credence/internal/cuda"
	"credence/internal/gpu"
	"credence/nn"
)

// device is the value of --device, the device that networks run on.
type device string

func (d *device) declare(f *pflag.FlagSet) {
	f.StringVar((*string)(d), "device", "auto", deviceHelp)
}

const deviceHelp = "`device` for networks: cpu, gpu, gpu:N for the GPU of that number, or auto, " +
	"which is the CPU; GPUs require the program credence-gpu"

// openGPU opens a GPU; tests count the calls.
var openGPU = gpu.Open

// forTraining returns the engine for training: with auto, a GPU for images and volumes if there is one.
func (d device) forTraining(parts []dataset.Feature) (nn.Engine, error) {
	grid := func(p dataset.Feature) bool { return p.Kind == dataset.Tensor && len(p.Shape) > 1 }
	if (d == "" || d == "auto") && slices.ContainsFunc(parts, grid) {
		if e, err := openGPU(-1); err == nil {
			return e, nil
		}
	}
	return d.engine()
}

// engine returns the engine that runs networks; auto is the CPU.
func (d device) engine() (nn.Engine, error) {
	if d == "" || d == "auto" || d == "cpu" {
		return nn.CPU{}, nil
	}
	number, err := d.number()
	if err != nil {
		return nil, err
	}
	e, err := openGPU(number)
	switch {
	case errors.Is(err, cuda.ErrBuild):
		return nil, withHint(usagef("--device %s: %w", string(d), err), "leave --device out to run on the processor")
	case err != nil:
		return nil, withHint(fmt.Errorf("--device %s: %w", string(d), err), "nvidia-smi lists the GPUs that the driver finds")
	}
	return e, nil
}

// number returns the number of the requested GPU, −1 for any.
func (d device) number() (int, error) {
	if d == "" || d == "auto" || d == "cpu" || d == "gpu" {
		return -1, nil
	}
	text, found := strings.CutPrefix(string(d), "gpu:")
	number, err := strconv.Atoi(text)
	if !found || err != nil || number < 0 {
		return 0, usagef("--device %q: expected auto, cpu, gpu or gpu:N", string(d))
	}
	return number, nil
}

// matching returns the engine with the name that a run has recorded, whatever auto would select here:
// results repeat to the bit only on the same engine.
func (d device) matching(recorded string) (nn.Engine, error) {
	if !gpu.Named(recorded) {
		return nn.CPU{}, nil
	}
	number, err := d.number()
	if err != nil {
		return nil, err
	}
	e, err := openGPU(number)
	switch {
	case err != nil:
		return nil, fmt.Errorf("trained on a GPU, %s; %w", recorded, err)
	case e.Name() != recorded:
		return nil, fmt.Errorf("trained on a GPU, %s; here is another, %s", recorded, e.Name())
	}
	return e, nil
}
