package serve

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"slices"

	"credence/internal/votelog"
)

type exportAsked struct {
	Format string `query:"format" enum:"csv,labelstudio" default:"csv"`
}

// exportVotes writes the votes of the server's file that count.
func (s *Server) exportVotes(ctx context.Context, in *exportAsked) (*fileAnswer, error) {
	if s.votes == nil {
		return nil, errNoVotes
	}
	votes := counting(s.votes.Votes(0))
	if in.Format == "csv" {
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		w.Write([]string{"item", "rater", "label"})
		for _, v := range votes {
			if v.Label != "" {
				w.Write([]string{v.Item, v.Rater, v.Label})
			}
		}
		w.Flush()
		return &fileAnswer{ContentType: "text/csv; charset=utf-8", ContentDisposition: `attachment; filename="votes.csv"`, CacheControl: "no-store", Body: b.Bytes()}, w.Error()
	}
	p, release, err := s.queue.get()
	if err != nil {
		return nil, err
	}
	defer release()
	tasks, err := p.tasks(ctx, votes)
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(tasks, "", " ")
	if err == nil {
		err = s.options.Limits.checkAnswer(int64(len(text)))
	}
	return &fileAnswer{ContentType: "application/json", ContentDisposition: `attachment; filename="votes-labelstudio.json"`, CacheControl: "no-store", Body: append(text, '\n')}, err
}

// counting returns the last line of each rater on an item, in the order of the file, without those
// that take a vote back.
func counting(lines []votelog.Vote) []votelog.Vote {
	type who struct{ item, rater string }
	last := map[who]int{}
	for i, v := range lines {
		last[who{v.Item, v.Rater}] = i
	}
	var list []votelog.Vote
	for i, v := range lines {
		if last[who{v.Item, v.Rater}] == i && (v.Label != "" || isCannotTell(v)) {
			list = append(list, v)
		}
	}
	return list
}

// task is an item with votes in Label Studio's JSON.
type task struct {
	ID          int            `json:"id"`
	Data        map[string]any `json:"data"`
	Annotations []annotation   `json:"annotations"`
	Predictions []suggestion   `json:"predictions"`
}

type annotation struct {
	ID           int               `json:"id"`
	CompletedBy  map[string]string `json:"completed_by"`
	WasCancelled bool              `json:"was_cancelled"`
	CreatedAt    string            `json:"created_at"`
	Result       []choice          `json:"result"`
}

// tasks returns the items that somebody said something of. "Cannot tell" is an annotation that was
// canceled.
func (p *pool) tasks(ctx context.Context, votes []votelog.Vote) ([]task, error) {
	list, place := []task{}, map[string]int{}
	for n, v := range votes {
		if err := stopped(ctx, n); err != nil {
			return nil, err
		}
		i, ok := p.at[v.Item]
		if !ok {
			continue
		}
		at, ok := place[v.Item]
		if !ok {
			t, err := p.task(i)
			if err != nil {
				return nil, err
			}
			at = len(list)
			place[v.Item], list = at, append(list, t)
		}
		a := annotation{ID: n + 1, CompletedBy: map[string]string{"email": v.Rater}, WasCancelled: v.Label == "",
			CreatedAt: v.Time.UTC().Format("2006-01-02T15:04:05.000Z"), Result: []choice{}}
		if v.Label != "" {
			a.Result = append(a.Result, ownChoices.choose(v.Label, 0))
		}
		list[at].Annotations = append(list[at].Annotations, a)
	}
	slices.SortFunc(list, func(a, b task) int { return a.ID - b.ID })
	return list, nil
}

// task returns item i with its features, as far as they are numbers or text, and its prediction.
func (p *pool) task(i int) (task, error) {
	t := task{ID: i + 1, Data: map[string]any{}, Predictions: []suggestion{}}
	ds, err := p.rows.dataset(i, p.ids[i])
	if err != nil {
		return t, err
	}
	for _, f := range featuresOf(ds) {
		switch {
		case f.Value != nil:
			t.Data[f.Name] = *f.Value
		case f.Text != "":
			t.Data[f.Name] = f.Text
		}
	}
	t.Data["item"] = p.ids[i]
	if n := p.now[i]; n != nil {
		t.Predictions = append(t.Predictions, suggestion{ModelVersion: p.of.version, Score: 1 - n.gain,
			Result: []choice{ownChoices.choose(p.of.model.Classes[n.predicted], n.mean[n.predicted])}})
	}
	return t, nil
}
