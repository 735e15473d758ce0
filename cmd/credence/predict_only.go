package main

import "github.com/spf13/pflag"

// checkOnly refuses --only with flags that ask for more.
func (o *predictOptions) checkOnly(f *pflag.FlagSet) error {
	if o.only == "" {
		return nil
	}
	if o.only != "mean" {
		return usagef("--only %q: expected mean", o.only)
	}
	for _, name := range []string{"level", "hpd", "full", "next", "top", "max-width", "min-top"} {
		if f.Changed(name) {
			return usagef("--only mean leaves out what --%s asks for: give one of them", name)
		}
	}
	return nil
}
