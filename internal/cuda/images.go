package cuda

import (
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"strings"
	"unsafe"
)

// The kernels come as machine code of common architectures and as PTX, which the driver compiles for any
// other: that takes it some seconds the first time. Only a build that can load the driver has them, in the folder
// images of the variable of that name.

// kernelNames has the names of all kernels, a line each after a comment.
//
//go:embed kernels.txt
var kernelNames string

// architectures are those with machine code, the latest first.
var architectures = []int{120, 90, 80, 75}

// image returns an image of the kernels, without compression.
func image(from fs.FS, name string) ([]byte, error) {
	f, err := from.Open("images/" + name + ".gz")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// machineCode returns the name of the image with machine code for a GPU: code runs on GPUs of the same major and
// of no earlier minor number.
func machineCode(capability int) (name string, ok bool) {
	for _, a := range architectures {
		if a/10 == capability/10 && a <= capability {
			return fmt.Sprint("sm_", a), true
		}
	}
	return "", false
}

// loadKernels loads the machine code for the GPU or, if there is none that the driver accepts, compiles the PTX;
// then it looks all kernels up.
func (d *Device) loadKernels() error {
	name, ok := machineCode(d.Capability)
	if !ok || d.loadImage(name) != nil {
		if err := d.loadImage("kernels.ptx"); err != nil {
			return fmt.Errorf("compiling the kernels: %w", err)
		}
	}
	d.kernels = map[string]uintptr{}
	for _, name := range strings.Split(strings.TrimSpace(kernelNames), "\n")[1:] {
		var f uintptr
		c := append([]byte(name), 0)
		if err := fnModuleGetFunction.call(uintptr(unsafe.Pointer(&f)), d.module, uintptr(unsafe.Pointer(&c[0]))); err != nil {
			return fmt.Errorf("kernel %s: %w", name, err)
		}
		d.kernels[name] = f
	}
	return nil
}

// loadImage loads a module from an image.
func (d *Device) loadImage(name string) error {
	text, err := image(images, name)
	if err != nil {
		return err
	}
	text = append(text, 0)
	if err := fnModuleLoadData.call(uintptr(unsafe.Pointer(&d.module)), uintptr(unsafe.Pointer(&text[0]))); err != nil {
		return err
	}
	runtime.KeepAlive(text)
	d.Image = name
	return nil
}
