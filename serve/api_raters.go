package serve

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"credence/evaluate"
	"credence/run"
)

// apiRaters tells what is known of the raters of a model, as credence raters --json does.
func (s *Server) apiRaters(api huma.API) {
	registerBody(api, huma.Operation{OperationID: "get-raters", Method: "GET", Path: "/models/{model}/raters",
		Summary:     "What is known of the raters of a model",
		Description: "Votes, leans, guesses and agreement with 95% intervals, and flags, as credence raters tells them. Names are replaced by the pseudonyms of reports unless they are asked for.",
		Tags:        []string{"raters"}, Responses: map[string]*huma.Response{"200": {Description: "the raters",
			Content: map[string]*huma.MediaType{"application/json": {Schema: ratersSchema()}}}}},
		func(ctx context.Context, in *struct {
			Model   string `path:"model"`
			Version string `query:"version" doc:"a version; the newest if none is given"`
			Names   bool   `query:"names" doc:"the names of raters instead of pseudonyms"`
		}) (json.RawMessage, error) {
			m, err := s.registry.get(in.Model, in.Version)
			if err != nil {
				return nil, err
			}
			r, err := m.tellRaters(in.Names)
			if err != nil {
				return nil, err
			}
			return json.Marshal(r)
		})
}

// tellRaters returns what is known of the raters.
func (s *served) tellRaters(names bool) (*evaluate.RaterReport, error) {
	if errors.Is(s.noRaters, run.ErrNoRaters) {
		return nil, failf(http.StatusNotFound, "nothing is known of the raters of model %q: its votes did not name any", s.name)
	}
	if s.noRaters != nil {
		return nil, s.noRaters
	}
	r := *s.raters
	r.Raters = slices.Clone(r.Raters)
	if !names {
		r.UsePseudonyms(run.DefaultPseudonyms)
	}
	return &r, nil
}

// ratersSchema describes [evaluate.RaterReport].
func ratersSchema() *huma.Schema {
	typed := func(kind, about string) *huma.Schema { return &huma.Schema{Type: kind, Description: about} }
	number := func(about string) *huma.Schema {
		return &huma.Schema{Type: "number", Nullable: true, Description: about}
	}
	estimate := func(about string) *huma.Schema {
		return &huma.Schema{Type: "object", Description: about + ", with its 95% interval; null where it is not modelled", Properties: map[string]*huma.Schema{
			"value": number(""), "se": number("standard error"), "lo": number(""), "hi": number("")}}
	}
	rater := &huma.Schema{Type: "object", Properties: map[string]*huma.Schema{
		"rater": typed("string", "name or pseudonym"), "votes": number("cast in training"),
		"lean":      estimate("shift of the logit towards class"),
		"guess":     estimate("share of votes that have nothing to do with the item"),
		"agreement": number("mean share of the other votes on an item that equal hers"),
		"expected":  number("the same of an exchangeable rater"),
		"flags":     {Type: "array", Items: typed("string", "leans, guesses or differs")},
		"average":   typed("boolean", "not modelled where others are: votes count as cast by an average rater"),
		"like":      typed("string", "an earlier rater whose name differs only in case, spaces or Unicode form"),
	}}
	return &huma.Schema{Type: "object", Properties: map[string]*huma.Schema{
		"modelled": typed("boolean", "training modelled raters"), "reason": typed("string", "why it did or did not"),
		"class": typed("string", "that leans are towards"), "lean_sd": number("standard deviation of leans between raters"),
		"raters": {Type: "array", Items: rater}, "pseudonymous": typed("boolean", "names are replaced"),
	}}
}
