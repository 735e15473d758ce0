package serve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"mime"
	"net/http"
	"os"
	"path"
	"strings"

	"credence/evaluate"
	"credence/internal/words"
	"credence/report"
	"credence/run"
)

// The page is plain HTML, CSS and JavaScript modules, served to browsers unchanged.
//
//go:embed page
var pageFiles embed.FS

// pagePolicy restricts the page to resources of this server, and forbids framing it.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// pageFile is a file of the page, ready to send.
type pageFile struct {
	kind, tag string
	text      []byte
}

// page adds the page at / and the files it loads. They contain no data and require no token: the page
// asks for the token once and then uses a cookie.
func (s *Server) page(mux *http.ServeMux) {
	files := map[string]pageFile{}
	entries, _ := pageFiles.ReadDir("page") // embedded files can always be read
	for _, e := range entries {
		text, _ := pageFiles.ReadFile("page/" + e.Name())
		sum := sha256.Sum256(text)
		files[e.Name()] = pageFile{mime.TypeByExtension(path.Ext(e.Name())), `"` + hex.EncodeToString(sum[:8]) + `"`, text}
	}
	// send responds with a file, or with 304 if the browser has it already.
	send := func(w http.ResponseWriter, r *http.Request) error {
		name := cmp.Or(r.PathValue("file"), "index.html")
		f, ok := files[name]
		if !ok {
			return failf(http.StatusNotFound, "the page has no file %q", name)
		}
		h := w.Header()
		h.Set("Content-Security-Policy", pagePolicy)
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", f.tag)
		h.Set("Content-Type", f.kind)
		if strings.Contains(r.Header.Get("If-None-Match"), f.tag) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
		_, err := w.Write(f.text)
		return err
	}
	s.route(mux, "GET /{$}", oipErrors, send)
	s.route(mux, "GET /page/{file}", oipErrors, send)
	s.route(mux, "POST /page/session", oipErrors, s.signIn)
	s.route(mux, "DELETE /page/session", oipErrors, s.signOut)
}

// crossSite rejects state-changing requests that a browser sends on behalf of another site's page: a
// user who is signed in, or whose server has no token, may have such a page open.
var crossSite = http.NewCrossOriginProtection()

// overview is the summary that the page shows first.
type overview struct {
	Model      string           `json:"model"`
	Version    string           `json:"version"`
	Program    string           `json:"program" doc:"version of the server"`
	Classes    []string         `json:"classes"`
	Method     string           `json:"method"`
	Networks   int              `json:"networks"`
	Parameters int              `json:"parameters"`
	Features   []string         `json:"features" doc:"features of the model"`
	Items      int              `json:"trained_items" doc:"number of training items"`
	Votes      float64          `json:"trained_votes" doc:"votes on the training items"`
	Level      float64          `json:"level"`
	Resolution float64          `json:"resolution" doc:"interval ends closer than this to 0 or 1 are extended to it"`
	Scale      float64          `json:"scale" doc:"factor by which calibration on held-out votes inflated the variance"`
	Raters     bool             `json:"raters" doc:"whether the model has a rater model"`
	Verdicts   []report.Verdict `json:"verdicts" doc:"verdicts of the report of the run"`
	Warnings   []string         `json:"warnings" doc:"warnings of training"`
	Queue      *overviewItems   `json:"queue,omitempty" doc:"summary of the items, if there are any and they are ready"`
	HasItems   bool             `json:"has_items"`
	TakesVotes bool             `json:"takes_votes"`
	Token      bool             `json:"token" doc:"whether the server requires a token"`
}

// overviewItems is the summary of the items.
type overviewItems struct {
	Items     int           `json:"items"`
	Progress  queueProgress `json:"progress"`
	Attention []attention   `json:"attention"`
}

// attention is a finding that needs attention, with the filter that shows the items concerned.
type attention struct {
	Mark   string `json:"mark" enum:"good,careful,bad,unknown"`
	Text   string `json:"text"`
	Filter string `json:"filter,omitempty" doc:"query that selects the items concerned"`
}

type overviewInput struct {
	Rater string `query:"rater" maxLength:"1024" doc:"name of the rater"`
}

func (s *Server) overview(ctx context.Context, in *overviewInput) (*overview, error) {
	c := s.registry.current.Load()
	name := ""
	if names := c.names(); len(names) > 1 {
		name = names[0]
	}
	m, err := s.registry.get(name, "")
	if err != nil {
		return nil, err
	}
	card, err := run.NewCard(m.model)
	if err != nil {
		return nil, err
	}
	o := &overview{Model: m.name, Version: m.version, Program: s.options.Version, Classes: card.Classes, Method: m.model.Method.Name(),
		Networks: card.Networks, Parameters: card.Parameters, Items: card.Split.Items - card.Split.Unvoted, Votes: card.Split.Votes, Level: s.options.Level,
		Raters: m.model.RaterModel != nil, Warnings: append([]string{}, words.Each(card.Warnings, evaluate.Message.String)...), Verdicts: []report.Verdict{}, HasItems: s.queue != nil, TakesVotes: s.votes != nil, Token: s.access.required()}
	for _, p := range card.Features {
		o.Features = append(o.Features, p.String())
	}
	if cal := m.model.Calibration; cal != nil {
		o.Resolution, o.Scale = cal.Resolution, cal.Scale
	}
	if text, err := os.ReadFile(m.folder.Path(run.ReportFile)); err == nil {
		o.Verdicts = append(o.Verdicts, report.Verdicts(text)...)
	}
	if s.queue == nil {
		return o, nil
	}
	if p, release, err := s.queue.get(); err == nil {
		defer release()
		list, err := p.attention(ctx, in.Rater)
		if err != nil {
			return nil, err
		}
		o.Queue = &overviewItems{Items: len(p.ids), Progress: p.progress(in.Rater), Attention: list}
	}
	return o, nil
}

// wide is the width above which an interval counts as uninformative.
const wide = 0.5

// attention returns the findings about the items that need attention.
func (p *rankedItems) attention(ctx context.Context, rater string) ([]attention, error) {
	var broad, unsure, split int
	for k, i := range p.order {
		if err := stopped(ctx, k); err != nil {
			return nil, err
		}
		n, c := p.focused(i, rater, "")
		if n.upper[c]-n.lower[c] > wide {
			broad++
		}
		if n.top[n.predicted] < 0.9 {
			unsure++
		}
		if agree, _ := p.agreement(i, 0, rater); agree == 2 {
			split++
		}
	}
	n := len(p.order)
	share := func(k int) string {
		return fmt.Sprintf("%s of %s (%.0f%%)", words.Thousands(k), words.Plural(n, "item"), 100*float64(k)/float64(max(1, n)))
	}
	var list []attention
	add := func(k int, mark, text, filter string) {
		if k > 0 {
			list = append(list, attention{mark, text, filter})
		}
	}
	add(unsure, "careful", share(unsure)+": the top class is uncertain (p_top below 0.9).", "max_top=0.9")
	add(broad, "careful", share(broad)+fmt.Sprintf(": the %g%% interval is wider than %g.", 100*p.level, wide), fmt.Sprintf("min_width=%g", wide))
	add(split, "careful", share(split)+": the votes so far disagree.", "agreement=2")
	add(len(p.bad), "bad", words.Plural(len(p.bad), "item")+" cannot be predicted: "+p.firstBad(), "")
	for _, note := range p.notes {
		add(1, "careful", strings.ToUpper(note[:1])+note[1:]+".", "")
	}
	if list == nil {
		list = []attention{{"good", "Nothing needs attention.", ""}}
	}
	return list, nil
}

// firstBad describes the first item without a prediction and the reason.
func (p *rankedItems) firstBad() string {
	for i, id := range p.ids {
		if why, ok := p.bad[i]; ok {
			return fmt.Sprintf("item %q: %s", id, why)
		}
	}
	return ""
}
