package main

import (
	"encoding/json"
	"io"

	"credence/evaluate"
	"credence/internal/atomicfile"
	"credence/model"
	"credence/report"
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
	page := report.Input{
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
	return atomicfile.Write(path, func(w io.Writer) error { return report.Write(w, page) })
}

// networkName returns how the configuration calls the network, if it does.
func networkName(m *model.Model) string {
	var config struct{ Network string }
	if json.Unmarshal(m.Provenance.Config, &config) != nil || len(config.Network) > 20 {
		return ""
	}
	return config.Network
}
