package main

import (
	"strings"

	"github.com/spf13/pflag"
)

// onlyMean reports whether nothing but means is asked for.
func (o *predictOptions) onlyMean() bool { return len(o.only) == 1 && o.only[0] == "mean" }

// checkOnly refuses --only with flags that ask for more.
func (o *predictOptions) checkOnly(f *pflag.FlagSet) error {
	if o.format == "npy" {
		for _, name := range []string{"hpd", "wide", "max-width", "min-top", "names", "csv-safe"} {
			if f.Changed(name) {
				return usagef("--%s has no place in an NPY file", name)
			}
		}
	}
	if o.only == nil {
		return nil
	}
	if o.format == "npy" && !o.onlyMean() {
		return nil
	}
	if !o.onlyMean() {
		return usagef("--only %q: expected mean, or the fields of an NPY file", strings.Join(o.only, ","))
	}
	for _, name := range []string{"level", "hpd", "full", "next", "top", "max-width", "min-top"} {
		if f.Changed(name) {
			return usagef("--only mean leaves out what --%s asks for: give one of them", name)
		}
	}
	return nil
}
