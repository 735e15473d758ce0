package main

import (
	"strings"

	"github.com/spf13/pflag"
)

// onlyMean reports whether nothing but means is asked for.
func (o *predictOptions) onlyMean() bool {
	return len(o.format.Fields) == 1 && o.format.Fields[0] == "mean"
}

// checkOnly refuses --only with flags that ask for more.
func (o *predictOptions) checkOnly(f *pflag.FlagSet) error {
	outside := firstChanged(f, "hpd", "wide", "max-width", "min-top", "names", "csv-safe")
	more := firstChanged(f, "level", "hpd", "full", "next", "top", "max-width", "min-top")
	switch {
	case o.format.Name == "npy" && outside != "":
		return usagef("--%s has no place in an NPY file", outside)
	case o.format.Fields != nil && o.format.Name != "npy" && !o.onlyMean():
		return usagef("--only %q: expected mean, or the fields of an NPY file", strings.Join(o.format.Fields, ","))
	case o.onlyMean() && more != "":
		return usagef("--only mean leaves out what --%s asks for: give one of them", more)
	}
	return nil
}
