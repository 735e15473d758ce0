package serve

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"credence/internal/votelog"
)

// finished is an annotation in Label Studio's form.
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

// labelTask is a task in Label Studio's form.
type labelTask struct {
	ID   json.Number                `json:"id"`
	Data map[string]json.RawMessage `json:"data"`
}

// oneOrMany is a value, or a list of them.
type oneOrMany[T any] []T

// UnmarshalJSON implements [json.Unmarshaler].
func (l *oneOrMany[T]) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
		return json.Unmarshal(text, (*[]T)(l))
	}
	*l = make(oneOrMany[T], 1)
	return json.Unmarshal(text, &(*l)[0])
}

// webhook takes in the votes of annotations that people finish in Label Studio, and takes back those of
// annotations that are deleted, if votes are kept. Other events are acknowledged.
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

// taskOf returns the task of annotation i: the one with its id, or the one at its place.
func taskOf(a *finished, i int, tasks []labelTask) *labelTask {
	for k := range tasks {
		if a.Task != "" && tasks[k].ID == a.Task {
			return &tasks[k]
		}
	}
	if i < len(tasks) {
		return &tasks[i]
	}
	return nil
}

// annotated keeps the vote of an annotation.
func (s *Server) annotated(a *finished, task *labelTask) error {
	if task == nil {
		return badRequest("annotation %s comes without its task: the webhook has to send the payload", a.ID)
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

// annotationKey is what the keys of an annotation's votes begin with.
func annotationKey(id string) string { return "ls-" + id + "-" }

// withdraw takes back the vote of an annotation that was deleted.
func (s *Server) withdraw(id string) error {
	var last votelog.Vote
	for _, v := range s.votes.Votes(0) {
		if strings.HasPrefix(v.Key, annotationKey(id)) {
			last = v
		}
	}
	if last.Label == "" {
		return nil // none was kept, or it is withdrawn already
	}
	last.Label, last.Key, last.Time = "", annotationKey(id)+"deleted", time.Now()
	return s.addVote(last)
}

// taskItem returns the item of a task: its data's own id, or that of the task.
func taskItem(id json.Number, data map[string]json.RawMessage) string {
	for _, name := range []string{"item", "id"} {
		var text string
		if json.Unmarshal(data[name], &text) == nil && text != "" {
			return text
		}
		var n json.Number
		if json.Unmarshal(data[name], &n) == nil && n != "" {
			return n.String()
		}
	}
	return id.String()
}

// raterOf returns who finished an annotation: a number, or an object with an address.
func raterOf(text json.RawMessage) string {
	var n json.Number
	if json.Unmarshal(text, &n) == nil && n != "" {
		return n.String()
	}
	var who struct {
		ID    json.Number `json:"id"`
		Email string      `json:"email"`
	}
	if json.Unmarshal(text, &who) == nil {
		if who.Email != "" {
			return who.Email
		}
		return who.ID.String()
	}
	return "unknown"
}
