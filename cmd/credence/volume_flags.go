package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"credence/dataset"
)

// volumeFlags is how the command line says how volumes in NIfTI files are
// prepared.
type volumeFlags struct {
	size, fit, scale, store string
	percentiles             numberList
	cache                   string
}

// declare adds the flags of a verb that decides how volumes are prepared.
// Prediction does as the model says.
func (v *volumeFlags) declare(f *pflag.FlagSet) {
	f.StringVar(&v.size, "volume-size", "", "`XxYxZ` voxels that volumes are resampled to: left to right, back to\nfront, foot to head (default 96x96x80)")
	f.StringVar(&v.fit, "volume-fit", "", "`how` a volume is laid over them: stretch or proportions\n(default stretch)")
	f.StringVar(&v.scale, "volume-scale", "", "`what` intensities are brought to: zscore (of what is brighter than\nthe mean), range (0 to 1) or none (default zscore)")
	f.Var(&v.percentiles, "volume-percentiles", "`low,high` percentiles at which intensities are cut off first\n(default 0.5,99.5)")
	f.StringVar(&v.store, "volume-store", "", "`precision` that voxels are kept in: float16, uint8 or float32\n(default float16)")
}

// declareCache adds the flag of every verb that reads volumes.
func (v *volumeFlags) declareCache(f *pflag.FlagSet) {
	f.StringVar(&v.cache, "volume-cache", "", "`folder` to keep prepared volumes in, for this run and others")
}

// options returns what the flags say.
func (v *volumeFlags) options() (o dataset.VolumeOptions, err error) {
	o.CacheDir = v.cache
	if v.size != "" {
		parts := strings.Split(v.size, "x")
		for i := range o.Size {
			if len(parts) != 3 {
				break
			}
			o.Size[i], _ = strconv.Atoi(parts[i])
		}
		if o.Size[0] < 1 || o.Size[1] < 1 || o.Size[2] < 1 {
			return o, usagef("--volume-size %q: expected XxYxZ voxels, such as 96x96x80", v.size)
		}
	}
	for name, value := range map[string]string{"volume-fit": v.fit, "volume-scale": v.scale, "volume-store": v.store} {
		if choices := flagChoices[name]; value != "" && !slices.Contains(choices, value) {
			return o, usagef("--%s %q: expected one of %s", name, value, strings.Join(choices, ", "))
		}
	}
	o.Preparation = dataset.Preparation{Fit: v.fit, Scale: v.scale, Store: v.store}
	if p := v.percentiles.values; len(p) == 2 && 0 <= p[0] && p[0] < p[1] && p[1] <= 100 {
		o.Preparation.Low, o.Preparation.High = p[0], p[1]
	} else if len(p) > 0 {
		return o, usagef("--volume-percentiles %v: expected two numbers from 0 to 100, such as 0.5,99.5", p)
	}
	return o, nil
}
