package main

import (
	"fmt"
	"strconv"

	"credence/head"
	"credence/internal/config"
)

// check refuses numbers without sense before any data are read. Zero, where a
// flag is not given, leaves the choice to the data.
func (o *fitFlags) check(origins map[string]config.Origin) error {
	type flag struct {
		name  string
		value float64
		valid bool
		want  string
	}
	whole := func(name string, value int, most int) flag {
		want := "at least 1"
		if most > 0 {
			want = fmt.Sprintf("a number from 1 to %d", most)
		}
		return flag{name, float64(value), value >= 0 && (most == 0 || value <= most), want}
	}
	number := func(name string, value float64, valid bool, want string) flag { return flag{name, value, valid, want} }
	list := []flag{
		whole("components", o.components, 0),
		whole("ensemble", o.ensemble, 1000),
		whole("epochs", o.epochs, 0),
		number("patience", float64(o.patience), o.patience >= 0, "at least 1, or 0 for never"),
		whole("batch", o.batch, 0),
		number("held-out", o.heldOut, o.heldOut >= 0 && o.heldOut <= 0.5, "a share above 0, at most 0.5"),
		number("rate", o.rate, o.rate >= 0 && o.rate < 1e6, "a learning rate above 0"),
		number("momentum", o.momentum, o.momentum >= 0 && o.momentum < 1, "from 0 to below 1"),
		number("weight-decay", o.weightDecay, o.weightDecay >= 0 && o.weightDecay < 1e6, "at least 0"),
		number("clip", o.clip, o.clip >= 0, "a norm above 0, or 0 for any"),
		number("dropout", o.dropout, o.dropout >= 0 && o.dropout < 1, "a rate from 0 to below 1"),
		number("input-dropout", o.inputDropout, o.inputDropout >= 0 && o.inputDropout < 1, "a rate from 0 to below 1"),
		number("limit", o.limit, o.limit >= 0 && o.limit <= head.MaxLogAlpha, fmt.Sprintf("above 0, at most %v", head.MaxLogAlpha)),
		whole("one-hot-levels", o.oneHotLevels, 0),
		whole("rare-level", o.rareLevel, 0),
	}
	for _, w := range o.widths {
		list = append(list, number("widths", float64(w), w >= 1, "numbers of at least 1"))
	}
	for _, w := range o.classWeights.values {
		list = append(list, number("class-weights", w, w >= 0, "weights that are not negative"))
	}
	for _, f := range list {
		if f.valid {
			continue
		}
		origin, found := origins[f.name], strconv.FormatFloat(f.value, 'f', -1, 64)
		if origin.Source == config.File {
			return fmt.Errorf("%v: %s: %s: expected %s", origin, f.name, found, f.want)
		}
		return usagef("%v %s: expected %s", origin, found, f.want)
	}
	return nil
}
