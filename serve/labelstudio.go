package serve

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"credence/internal/votelog"
	"credence/internal/words"
	"credence/predict"
)

// labelStudio adds the routes of Label Studio's ML backend. Tasks are predicted from the fields of
// their data. Scores are low where a vote is most informative, so that Label Studio's sampling by
// score presents those tasks first.
func (s *Server) labelStudio(mux *http.ServeMux) {
	s.route(mux, "GET /health", oipErrors, func(w http.ResponseWriter, r *http.Request) error {
		return writeJSON(w, map[string]string{"status": "UP", "model_class": "Credence"})
	})
	named := func(r *http.Request) (model, version string) { return r.URL.Query().Get("model"), "" }
	s.modelRoute(mux, "POST /setup", oipErrors, named, s.setup)
	s.modelRoute(mux, "POST /predict", oipErrors, named, s.predictTasks)
	s.route(mux, "POST /webhook", oipErrors, s.webhook)
	s.modelRoute(mux, "GET /versions", oipErrors, named, func(w http.ResponseWriter, r *http.Request, m *served) error {
		return writeJSON(w, map[string][]string{"versions": {m.version}})
	})
}

// choose returns a result of the same control that selects a class.
func (c choice) choose(class string, score float64) choice {
	return choice{c.FromName, c.ToName, "choices", map[string]any{"choices": []string{class}}, score}
}

// ownChoices is the control used if there is no labeling configuration.
var ownChoices = choice{FromName: "label", ToName: "item"}

// findChoices returns the first control of a labeling configuration that offers all classes, or ownChoices if there
// is no configuration.
func findChoices(config string, classes []string) (choice, error) {
	if config == "" {
		return ownChoices, nil
	}
	type node struct {
		XMLName  xml.Name
		Name     string `xml:"name,attr"`
		ToName   string `xml:"toName,attr"`
		Value    string `xml:"value,attr"`
		Children []node `xml:",any"`
	}
	var root node
	d := xml.NewDecoder(io.LimitReader(strings.NewReader(config), 1<<20))
	if err := d.Decode(&root); err != nil {
		return choice{}, badRequest("malformed labeling configuration: %w", err)
	}
	var found []choice
	var seen []string
	var walk func(n *node)
	walk = func(n *node) {
		if n.XMLName.Local == "Choices" {
			var values []string
			for i := range n.Children {
				if c := &n.Children[i]; c.XMLName.Local == "Choice" {
					values = append(values, c.Value)
				}
			}
			seen = append(seen, n.Name+" ["+words.Few(values)+"]")
			missing := func(class string) bool { return !slices.Contains(values, class) }
			if !slices.ContainsFunc(classes, missing) {
				found = append(found, choice{FromName: n.Name, ToName: n.ToName})
			}
		}
		for i := range n.Children {
			walk(&n.Children[i])
		}
	}
	walk(&root)
	if len(found) == 0 {
		return choice{}, badRequest("labeling configuration: expected <Choices> with all classes of the model [%s], found %s",
			words.Few(classes), words.Few(seen))
	}
	return found[0], nil
}

func (s *Server) setup(w http.ResponseWriter, r *http.Request, m *served) error {
	var req struct {
		Schema string `json:"schema"`
	}
	if err := s.decode(w, r, &req); err != nil {
		return err
	}
	if _, err := findChoices(req.Schema, m.model.Classes); err != nil {
		return err
	}
	return writeJSON(w, map[string]string{"model_version": m.version})
}

// decode reads a JSON body.
func (s *Server) decode(w http.ResponseWriter, r *http.Request, to any) error {
	body, err := s.body(w, r)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, to); err != nil {
		return badRequest("malformed request body: %w", err)
	}
	return nil
}

// suggestion is a prediction in Label Studio's format.
type suggestion struct {
	ModelVersion string   `json:"model_version"`
	Score        float64  `json:"score"`
	Result       []choice `json:"result"`
}

// choice is the result of the control of a labeling configuration that asks for a class.
type choice struct {
	FromName string         `json:"from_name"`
	ToName   string         `json:"to_name"`
	Type     string         `json:"type"`
	Value    map[string]any `json:"value"`
	Score    float64        `json:"score"`
}

func (s *Server) predictTasks(w http.ResponseWriter, r *http.Request, m *served) error {
	var req struct {
		Tasks []struct {
			ID   json.Number     `json:"id"`
			Data json.RawMessage `json:"data"`
		} `json:"tasks"`
		LabelConfig string `json:"label_config"`
	}
	if err := s.decode(w, r, &req); err != nil {
		return err
	}
	at, err := findChoices(req.LabelConfig, m.model.Classes)
	if err != nil {
		return err
	}
	f := &frame{}
	for i, task := range req.Tasks {
		in := reader{scanner: newScanner(task.Data), features: m.features, limits: &s.options.Limits}
		if err := in.record(f, i); err != nil {
			return err
		}
	}
	f.complete()
	if err := f.finish(); err != nil {
		return err
	}
	text := []byte(`{"model_version":` + quote(m.version) + `,"results":[`)
	if f.rows == 0 {
		return writeText(w, append(text, "]}\n"...))
	}
	want := s.defaultOptions()
	want.partial, want.columns = true, map[string]bool{"lower": true, "upper": true, "p_top": true, "next_gain": true}
	return s.writeList(w, r, m, f, want, text, func(a *resultBatch, dst []byte) ([]byte, error) {
		return a.list(dst, func(dst []byte, j int) ([]byte, error) {
			if a.items[j].Err != nil {
				return append(dst, "[]"...), nil // a task without a prediction
			}
			one, err := json.Marshal(m.suggestion(&a.rows[j], at))
			return append(dst, one...), err
		})
	})
}

// suggestion returns the prediction for an item. The score is 1 minus the expected reduction in variance by a
// vote; without a distribution it is the mean.
func (m *served) suggestion(r *predict.Row, at choice) suggestion {
	mean := r.Mean[r.Predicted]
	p := suggestion{ModelVersion: m.version, Score: mean}
	if r.Classes != nil {
		mean = r.Classes[r.Predicted].Mean
		p.Score = 1 - r.NextGain
	}
	p.Result = []choice{at.choose(m.model.Classes[r.Predicted], mean)}
	return p
}

// checkItem returns an error for a vote on an item that is not among the items, if the server has items. Votes can be
// withdrawn whatever the items are now.
func (s *Server) checkItem(v votelog.Vote) error {
	if s.queue == nil || v.Label == "" && !isCannotTell(v) {
		return nil
	}
	p, release, err := s.queue.get()
	if err != nil {
		return err
	}
	defer release()
	_, err = p.find(v.Item)
	return err
}

// addVote writes a vote to the vote file and counts it.
func (s *Server) addVote(v votelog.Vote) error {
	if s.votes == nil {
		return errNoVotes
	}
	if err := cmp.Or(s.checkLabel(v.Label), s.checkItem(v)); err != nil {
		return err
	}
	known, err := s.votes.Add(v)
	switch {
	case errors.Is(err, votelog.ErrKeyReused):
		return failf(http.StatusConflict, "key %s: %w", strconv.Quote(v.Key), err)
	case errors.Is(err, votelog.ErrClosed):
		return failf(http.StatusServiceUnavailable, "%w", err)
	case statusOf(err) == http.StatusInsufficientStorage:
		s.metrics.unwritten.Inc()
		return err
	case err != nil:
		return badRequest("%w", err)
	}
	if !known {
		s.metrics.votes.Inc()
	}
	s.queue.voted()
	s.health.voted()
	return nil
}

// checkLabel returns an error if the label is neither empty nor a class of any model.
func (s *Server) checkLabel(label string) error {
	c := s.registry.current.Load()
	var all []string
	for _, name := range c.names() {
		all = append(all, c.newest(name).model.Classes...)
	}
	if label == "" || slices.Contains(all, label) {
		return nil
	}
	return badRequest("label %q: expected one of [%s]", label, words.Few(all))
}

// finished is an annotation in Label Studio's format.
type finished struct {
	ID           json.Number     `json:"id"`
	Task         json.Number     `json:"task"`
	CompletedBy  json.RawMessage `json:"completed_by"`
	WasCancelled bool            `json:"was_cancelled"`
	UpdatedAt    string          `json:"updated_at"`
	Result       []struct {
		Type  string `json:"type"`
		Value struct {
			Choices []string `json:"choices"`
		} `json:"value"`
	} `json:"result"`
}

// labelTask is a task in Label Studio's format.
type labelTask struct {
	ID   json.Number                `json:"id"`
	Data map[string]json.RawMessage `json:"data"`
}

// oneOrMany is decoded from a JSON value or an array of values.
type oneOrMany[T any] []T

// UnmarshalJSON implements [json.Unmarshaler].
func (l *oneOrMany[T]) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
		return json.Unmarshal(text, (*[]T)(l))
	}
	*l = make(oneOrMany[T], 1)
	return json.Unmarshal(text, &(*l)[0])
}

// webhook adds the votes of annotations that are submitted in Label Studio, and withdraws those of deleted
// annotations, if the server accepts votes. Other events are acknowledged and ignored.
func (s *Server) webhook(w http.ResponseWriter, r *http.Request) error {
	var req struct {
		Action      string               `json:"action"`
		Annotation  oneOrMany[finished]  `json:"annotation"`
		Annotations []finished           `json:"annotations"` // deleted ones
		Task        oneOrMany[labelTask] `json:"task"`
	}
	if err := s.decode(w, r, &req); err != nil {
		return err
	}
	var err error
	switch {
	case s.votes == nil:
	case req.Action == "ANNOTATION_CREATED" || req.Action == "ANNOTATION_UPDATED" || req.Action == "ANNOTATIONS_CREATED":
		for i := range req.Annotation {
			if a := &req.Annotation[i]; err == nil && !a.WasCancelled {
				err = s.annotated(a, taskOf(a, i, req.Task))
			}
		}
	case req.Action == "ANNOTATIONS_DELETED":
		for i := range req.Annotations {
			if err == nil {
				err = s.withdraw(req.Annotations[i].ID.String())
			}
		}
	}
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusCreated)
	_, err = io.WriteString(w, "{}\n")
	return err
}

// taskOf returns the task of annotation i: the one with its id, otherwise the one at the same index, or nil.
func taskOf(a *finished, i int, tasks []labelTask) *labelTask {
	if k := slices.IndexFunc(tasks, func(t labelTask) bool { return t.ID == a.Task }); k >= 0 && a.Task != "" {
		i = k
	}
	if i < len(tasks) {
		return &tasks[i]
	}
	return nil
}

// annotated adds the vote of an annotation.
func (s *Server) annotated(a *finished, task *labelTask) error {
	if task == nil {
		return badRequest("annotation %s has no task: configure the webhook to send the payload", a.ID)
	}
	for _, result := range a.Result {
		if result.Type != "choices" || len(result.Value.Choices) != 1 {
			continue
		}
		v := votelog.Vote{Item: taskItem(task.ID, task.Data), Rater: raterOf(a.CompletedBy), Label: result.Value.Choices[0],
			Time: time.Now(), Key: annotationKey(a.ID.String()) + a.UpdatedAt}
		if err := s.addVote(v); err != nil {
			return err
		}
	}
	return nil
}

// annotationKey returns the prefix of the keys of an annotation's votes.
func annotationKey(id string) string { return "ls-" + id + "-" }

// withdraw withdraws the vote of a deleted annotation.
func (s *Server) withdraw(id string) error {
	var last votelog.Vote
	for _, v := range s.votes.Votes(0) {
		if strings.HasPrefix(v.Key, annotationKey(id)) {
			last = v
		}
	}
	if last.Label == "" {
		return nil // there is no vote, or it is already withdrawn
	}
	last.Label, last.Key, last.Time = "", annotationKey(id)+"deleted", time.Now()
	return s.addVote(last)
}

// taskItem returns the item id of a task: the field item or id of its data, otherwise the id of the task.
func taskItem(id json.Number, data map[string]json.RawMessage) string {
	for _, name := range []string{"item", "id"} {
		var text string
		var n json.Number
		if json.Unmarshal(data[name], &text) == nil && text != "" || json.Unmarshal(data[name], &n) == nil && n != "" {
			return cmp.Or(text, n.String())
		}
	}
	return id.String()
}

// raterOf returns the rater of an annotation, given as a number or as an object with an email address or an id.
func raterOf(text json.RawMessage) string {
	var n json.Number
	if json.Unmarshal(text, &n) == nil && n != "" {
		return n.String()
	}
	var who struct {
		ID    json.Number `json:"id"`
		Email string      `json:"email"`
	}
	if json.Unmarshal(text, &who) != nil {
		return "unknown"
	}
	return cmp.Or(who.Email, who.ID.String())
}
