package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"credence/internal/calculator"
	"credence/run"
)

// apiModel is a model in a list.
type apiModel struct {
	Name     string    `json:"name" doc:"name of the model in routes: the folder of its run"`
	Version  string    `json:"version"`
	SHA256   string    `json:"sha256" doc:"SHA-256 of the model file"`
	Classes  []string  `json:"classes"`
	Features []string  `json:"features"`
	Method   string    `json:"method"`
	Loaded   time.Time `json:"loaded"`
}

// apiVote is a vote in the API, posted or listed.
type apiVote struct {
	Item  string `json:"item" minLength:"1" maxLength:"1024" doc:"id of the item"`
	Rater string `json:"rater" minLength:"1" maxLength:"1024" doc:"name of the rater"`
	Label string `json:"label" maxLength:"1024" doc:"a class; if empty, the rater's vote on the item is withdrawn"`
	Key   string `json:"key,omitempty" maxLength:"128" doc:"idempotency key: a vote that is sent again with the same key counts once"`
	// CannotTell is stored as a line without a label, which is not counted as a vote.
	CannotTell bool      `json:"cannot_tell,omitempty" doc:"instead of a label: the rater is undecided"`
	Skipped    bool      `json:"skipped,omitempty" readOnly:"true" doc:"the rater skipped the item"`
	Time       time.Time `json:"time,omitzero" readOnly:"true" doc:"when the vote was received"`
}

// api adds the routes under /api/v1, which the OpenAPI document at /api/v1/openapi.json describes.
func (s *Server) api(mux *http.ServeMux) {
	config := huma.DefaultConfig("Credence", s.options.Version)
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "/api/v1/openapi", "", "/api/v1/schemas"
	config.CreateHooks = nil // no links to schemas in responses
	config.Transformers = append(config.Transformers, recordProblem)
	config.Info.Description = "Distributions of class probabilities, with credible intervals, predicted by models that were trained on votes."
	if s.options.BasePath != "" {
		config.Servers = []*huma.Server{{URL: s.options.BasePath}}
	}
	api := humago.NewWithPrefix(mux, s.options.BasePath, config)
	registerBody(api, operation("models", "list-models", "GET", "/models", "List the models and their versions", ""), s.listModels)
	registerBody(api, operation("models", "get-model", "GET", "/models/{model}", "Get the model card: data, training and quality of a model", ""), s.modelCard)
	raters := operation("raters", "get-raters", "GET", "/models/{model}/raters", "Get the raters of a model",
		"Votes, bias (lean), guess rate and agreement with 95% intervals, and flags, as in credence raters. Names are replaced by the pseudonyms of reports unless requested.")
	raters.Responses = map[string]*huma.Response{"200": {Description: "the raters",
		Content: map[string]*huma.MediaType{"application/json": {Schema: ratersSchema()}}}}
	registerBody(api, raters, s.modelRaters)
	vote := operation("votes", "post-vote", "POST", "/votes", "Cast a vote",
		"The response is sent after the vote is on disk.")
	vote.DefaultStatus = http.StatusCreated
	registerBody(api, vote, s.postVote)
	registerBody(api, operation("votes", "list-votes", "GET", "/votes", "List the votes in the order of arrival", ""), s.listVotes)
	s.apiQueue(api)
	s.apiHealth(api)
	query := operation("mixture", "mixture", "POST", "/mixture", "Evaluate a mixture",
		"Moments, quantiles and intervals of a mixture of Dirichlet distributions, optionally after votes. Request and response are the JSON lines of credence mixture --jsonl.")
	query.MaxBodyBytes, query.SkipValidateBody = 1<<20, true
	registerBody(api, query, s.calculate)
	s.apiPredict(api, mux)
}

// apiProblem is an error response of the API, with its cause for the log.
type apiProblem struct {
	huma.ErrorModel
	cause error
}

// recordProblem is a huma transformer that records the cause of an error response for the log.
func recordProblem(ctx huma.Context, _ string, v any) (any, error) {
	_, w := humago.Unwrap(ctx)
	switch err := v.(type) {
	case *apiProblem:
		w.(*recorder).err = err.cause
		return &err.ErrorModel, nil
	case error:
		w.(*recorder).err = err
	}
	return v, nil
}

// summary returns the model as the API lists it.
func (m *served) summary() apiModel {
	a := apiModel{Name: m.name, Version: m.version, SHA256: m.hash, Classes: m.model.Classes, Method: m.model.Method.Name(), Loaded: m.loaded.UTC()}
	for _, p := range m.features {
		a.Features = append(a.Features, p.Name)
	}
	return a
}

// operation describes an operation below /api/v1.
func operation(tag, id, method, path, summary, description string) huma.Operation {
	return huma.Operation{OperationID: id, Method: method, Path: "/api/v1" + path, Summary: summary, Description: description, Tags: []string{tag}}
}

// register adds an operation to the API. Errors are converted to those of huma.
func register[I, O any](api huma.API, op huma.Operation, f func(ctx context.Context, in *I) (*O, error)) {
	huma.Register(api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := f(ctx, in)
		if err != nil {
			err = causeOf(ctx, err)
			status := statusOf(err)
			return nil, &apiProblem{huma.ErrorModel{Status: status, Title: http.StatusText(status), Detail: publicError(err).Error()}, err}
		}
		return out, nil
	})
}

// registerBody adds an operation whose response has a body and no headers of its own.
func registerBody[I, O any](api huma.API, op huma.Operation, f func(ctx context.Context, in *I) (O, error)) {
	type response struct{ Body O }
	register(api, op, func(ctx context.Context, in *I) (*response, error) {
		out, err := f(ctx, in)
		return &response{out}, err
	})
}

type modelListBody struct {
	Models []apiModel `json:"models"`
}

func (s *Server) listModels(context.Context, *struct{}) (out modelListBody, err error) {
	for m := range s.registry.current.Load().all() {
		out.Models = append(out.Models, m.summary())
	}
	return out, nil
}

type modelInput struct {
	Model   string `path:"model"`
	Version string `query:"version" doc:"version of the model; default the newest"`
}

// modelCard returns the card of a model.
func (s *Server) modelCard(_ context.Context, in *modelInput) (json.RawMessage, error) {
	m, err := s.registry.get(in.Model, in.Version)
	if err != nil {
		return nil, err
	}
	c, err := run.NewCard(m.model)
	if err != nil {
		return nil, err
	}
	return json.Marshal(c)
}

type voteInput struct{ Body apiVote }

type voteSavedBody struct {
	Saved bool `json:"saved" doc:"true: the vote is on disk"`
}

func (s *Server) postVote(_ context.Context, in *voteInput) (voteSavedBody, error) {
	v, err := in.Body.line()
	if err == nil {
		err = s.addVote(v)
	}
	return voteSavedBody{true}, err
}

type voteListInput struct {
	From  int    `query:"from" minimum:"0" doc:"number of votes to skip"`
	Limit int    `query:"limit" minimum:"1" maximum:"10000" default:"1000"`
	Item  string `query:"item" doc:"only votes on this item"`
	Rater string `query:"rater" doc:"only votes of this rater"`
}

type voteListBody struct {
	Votes []apiVote `json:"votes"`
	Next  int       `json:"next" doc:"value of from for votes that arrive later"`
}

// listVotes returns a page of the vote file, in the order of arrival.
func (s *Server) listVotes(_ context.Context, in *voteListInput) (*voteListBody, error) {
	if s.votes == nil {
		return nil, errNoVotes
	}
	out := &voteListBody{[]apiVote{}, in.From}
	for _, v := range s.votes.Votes(in.From) {
		if len(out.Votes) == in.Limit {
			break
		}
		out.Next++
		if (in.Item == "" || v.Item == in.Item) && (in.Rater == "" || v.Rater == in.Rater) {
			out.Votes = append(out.Votes, voteOf(v))
		}
	}
	return out, nil
}

type mixtureInput struct {
	RawBody []byte `contentType:"application/json"`
}

// calculate evaluates one mixture query like credence mixture --jsonl.
func (s *Server) calculate(ctx context.Context, in *mixtureInput) (json.RawMessage, error) {
	var line bytes.Buffer
	if err := json.Compact(&line, in.RawBody); err != nil {
		return nil, badRequest("malformed JSON: %w", err)
	}
	text, err := calculator.EvaluateOne(ctx, line.Bytes(), s.options.Limits.checkMixture)
	switch _, limited := errors.AsType[*httpError](err); {
	case err == nil:
		return append(text, '\n'), s.options.Limits.checkResponse(int64(len(text)))
	case limited, ctx.Err() != nil:
		return nil, err
	}
	return nil, failf(http.StatusUnprocessableEntity, "%w", err)
}

type ratersInput struct {
	Model   string `path:"model"`
	Version string `query:"version" doc:"version of the model; default the newest"`
	Names   bool   `query:"names" doc:"return the names of raters instead of pseudonyms"`
}

// modelRaters returns the raters of a model, as credence raters --json prints them, with their names or with
// pseudonyms.
func (s *Server) modelRaters(_ context.Context, in *ratersInput) (json.RawMessage, error) {
	m, err := s.registry.get(in.Model, in.Version)
	if err != nil {
		return nil, err
	}
	if errors.Is(m.noRaters, run.ErrNoRaters) {
		return nil, failf(http.StatusNotFound, "model %q has no raters: its votes were anonymous", m.name)
	}
	if m.noRaters != nil {
		return nil, m.noRaters
	}
	r := *m.raters
	r.Raters = slices.Clone(r.Raters)
	if !in.Names {
		r.UsePseudonyms(run.DefaultPseudonyms)
	}
	return json.Marshal(&r)
}

// ratersSchema returns the schema of evaluate.RaterReport, the report on the raters of a model.
func ratersSchema() *huma.Schema {
	typed := func(kind, about string) *huma.Schema { return &huma.Schema{Type: kind, Description: about} }
	number := func(about string) *huma.Schema {
		return &huma.Schema{Type: "number", Nullable: true, Description: about}
	}
	estimate := func(about string) *huma.Schema {
		return &huma.Schema{Type: "object", Description: about + ", with its 95% interval; null if not modelled", Properties: map[string]*huma.Schema{
			"value": number(""), "se": number("standard error"), "lo": number(""), "hi": number("")}}
	}
	rater := &huma.Schema{Type: "object", Properties: map[string]*huma.Schema{
		"rater": typed("string", "name or pseudonym"), "votes": number("number of votes in the training data"),
		"lean":      estimate("bias: shift of the logit towards class"),
		"guess":     estimate("guess rate: share of votes that are independent of the item"),
		"agreement": number("mean share of the other votes on an item that agree with the rater's"),
		"expected":  number("expected agreement of an exchangeable rater"),
		"flags":     {Type: "array", Items: typed("string", "leans, guesses or differs")},
		"average":   typed("boolean", "not modelled although others are: votes count as those of an average rater"),
		"like":      typed("string", "an earlier rater whose name differs only in case, spaces or Unicode form"),
	}}
	return &huma.Schema{Type: "object", Properties: map[string]*huma.Schema{
		"modelled": typed("boolean", "whether raters are modelled"), "reason": typed("string", "why or why not"),
		"class": typed("string", "the class that biases refer to"), "lean_sd": number("standard deviation of biases between raters"),
		"raters": {Type: "array", Items: rater}, "pseudonymous": typed("boolean", "whether names are pseudonyms"),
	}}
}
