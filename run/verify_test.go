package run

import (
	"strings"
	"testing"

	"credence/evaluate"
	"credence/model"
)

// The difference that is named is the first in the order of what it explains.
func TestFirstDifference(t *testing.T) {
	folder := trainedFolder(t, Options{Fit: quick()})
	load := func() *model.Model {
		m, err := Load(string(folder))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	weight := func(m *model.Model) { m.Members[1].Params[0].Value[2]++ }
	for _, c := range []struct {
		change func(m *model.Model)
		want   string
	}{
		{func(m *model.Model) { m.Provenance.Data, m.Provenance.Kernel = "x", "y" }, "data: recorded"},
		{func(m *model.Model) { m.Provenance.Kernel, m.Provenance.Version = "x", "y" }, "kernel: recorded"},
		{func(m *model.Model) { m.Provenance.Version = "9.9" }, "found 9.9; the weights are equal"},
		{func(m *model.Model) { m.Provenance.Version = "9.9"; weight(m) }, "found 9.9; the weights differ too"},
		{func(m *model.Model) { m.Provenance.Config = []byte(`{}`) }, "configuration: recorded"},
		{weight, "weights: network 1, "},
		{func(m *model.Model) { m.Members = m.Members[:1] }, "networks: recorded 2, found 1"},
		{func(m *model.Model) {
			m.Provenance.Warnings = append(m.Provenance.Warnings, evaluate.Message{Kind: "x"})
		}, "the weights are equal, but the training records differ"},
	} {
		a, b := load(), load()
		c.change(b)
		err := firstDifference(folder, a, b)
		if !strings.HasPrefix(err.Error(), string(folder)+" does not repeat: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
