package main

import (
	"encoding/json"
	"io"

	"credence/dataset"
	"credence/evaluate"
	"credence/internal/atomicfile"
	"credence/model"
	"credence/report"
	"credence/train"
)

// reportFile is the report in a run folder.
const reportFile = "report.html"

// pageOptions is what a report tells beside the model and its evaluation.
type pageOptions struct {
	subject   string   // what was learned, continuing "… was trained on"
	evaluated string   // which items, following their number
	items     []string // their ids
	commands  []string // that repeat it
	config    string
}

// writeReport writes the evaluation of a model as one HTML page.
func writeReport(path string, m *model.Model, in *evaluate.Input, r *evaluate.Result, o pageOptions) error {
	page := reportPage(m, in, r, o)
	return atomicfile.Write(path, func(w io.Writer) error { return report.Write(w, page) })
}

// reportPage returns what the page is made from.
func reportPage(m *model.Model, in *evaluate.Input, r *evaluate.Result, o pageOptions) report.Input {
	return report.Input{
		Subject:    o.subject,
		Classes:    m.Classes,
		Network:    networkName(m),
		Members:    len(m.Members),
		Components: m.Head.Components,
		Parameters: m.Size(),
		Provenance: &m.Provenance,
		Result:     r,
		Evaluated:  o.evaluated,
		Items:      o.items,
		Mixtures:   in.Mixtures,
		Votes:      in.Votes,
		Resolution: in.Resolution,
		Commands:   o.commands,
		Config:     o.config,
	}
}

// networkName returns how the configuration calls the network, if it does.
func networkName(m *model.Model) string {
	var config struct{ Network string }
	if json.Unmarshal(m.Provenance.Config, &config) != nil || len(config.Network) > 20 {
		return ""
	}
	return config.Network
}

// reportItems bounds how many items the report of a training run is made from.
const reportItems = 20_000

// writeReport judges the predictions that training made for items it held out,
// and writes the page of the run.
func (o *trainOptions) writeReport(ds *dataset.Dataset, result *train.Result) error {
	var scored []int
	for j, p := range result.OutOfFold {
		if p != nil {
			scored = append(scored, j)
		}
	}
	if len(scored) == 0 {
		return nil
	}
	if n := len(scored); n > reportItems {
		every := (n + reportItems - 1) / reportItems
		some := scored[:0]
		for i := 0; i < n; i += every {
			some = append(some, scored[i])
		}
		scored = some
	}
	m, held := result.Model, ds.Select(scored)
	in := evaluate.NewInput(held)
	in.Resolution, in.References = m.Resolution, result.References.Select(scored)
	for _, j := range scored {
		in.Mixtures = append(in.Mixtures, result.OutOfFold[j])
	}
	r, err := evaluate.Evaluate(*in, evaluate.Options{})
	if err != nil {
		return err
	}
	return writeReport(o.out.path(reportFile), m, in, r, pageOptions{
		evaluated: "items, by networks that were not trained on them",
		items:     held.Items,
		commands:  []string{"credence train --config " + shellQuote(o.out.path(configFile)) + " --out FOLDER"},
	})
}
