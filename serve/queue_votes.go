package serve

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"credence/dataset"
	"credence/internal/votelog"
	"credence/internal/words"
	"credence/model"
	"credence/predict"
)

// cannotTell is the key prefix of a line without a label that records that a rater has seen the item
// and is undecided. Other readers of the vote file treat the line as one without a vote.
const cannotTell = "cannot-tell:"

var errNoVotes = failf(http.StatusNotFound, "this server does not accept votes: start it with --vote-log FILE")

// line returns a posted vote as a line of the vote file.
func (a *apiVote) line() (votelog.Vote, error) {
	v := votelog.Vote{Item: a.Item, Rater: a.Rater, Label: a.Label, Key: a.Key, Time: time.Now()}
	switch {
	case a.Skipped:
		return v, badRequest("skipped: a vote cannot skip an item; use /api/v1/queue/skip")
	case a.CannotTell && a.Label != "":
		return v, badRequest("expected a label or cannot_tell, found both (label %q)", a.Label)
	case a.CannotTell:
		v.Key = cannotTell + cmp.Or(a.Key, rand.Text())
	default:
		return v, checkKey(a.Key)
	}
	return v, nil
}

// checkKey returns an error if a client's key has the reserved prefix.
func checkKey(key string) error {
	if strings.HasPrefix(key, cannotTell) {
		return badRequest("key: the prefix %s is reserved; use cannot_tell", cannotTell)
	}
	if strings.HasPrefix(key, skipKey) {
		return badRequest("key: the prefix %s is reserved; use /api/v1/queue/skip", skipKey)
	}
	return nil
}

// voteOf returns a line of the vote file as the API lists it.
func voteOf(v votelog.Vote) apiVote {
	a := apiVote{Item: v.Item, Rater: v.Rater, Label: v.Label, Key: v.Key, Time: v.Time}
	if isCannotTell(v) {
		a.CannotTell, a.Key = true, strings.TrimPrefix(v.Key, cannotTell)
	}
	a.Skipped = isSkip(v)
	return a
}

func isCannotTell(v votelog.Vote) bool { return v.Label == "" && strings.HasPrefix(v.Key, cannotTell) }

// mark is the vote of a rater on an item, or records that the rater is undecided.
type mark struct {
	rater string
	class int // −1: undecided
}

// earlierVotes are the votes on an item in other files, cast before.
type earlierVotes struct {
	counts []float32
	named  []mark // those with a rater's name
}

// ballots holds the votes on the items, by the index of the item. In the server's own vote file the last
// vote of each rater counts; it also replaces a vote of the same rater in an earlier file, as in
// credence train with both files.
type ballots struct {
	classes []string
	earlier map[int]*earlierVotes
	marks   map[int][]mark
	notes   []string // warnings about earlier votes
}

// readEarlierVotes reads the files of earlier votes. It passes the model's classes to the reader, so that
// the error for any other class has its line.
func readEarlierVotes(ctx context.Context, m *served, files []string) (*dataset.Dataset, error) {
	if len(files) == 0 {
		return nil, nil
	}
	opts := m.read.VotesOptions
	opts.Classes, opts.Ordered = m.model.Classes, m.model.Ordered
	opts.Schema, opts.Judges = m.features, nil
	opts.Columns, opts.LabelColumn = nil, "" // of the run's own data
	ds, err := dataset.Load(ctx, dataset.LoadOptions{Votes: files, VotesOptions: opts})
	if err != nil {
		return nil, err
	}
	for _, c := range ds.Classes {
		if !slices.Contains(m.model.Classes, c) {
			return nil, fmt.Errorf("reading %s: class %q: expected one of %q", strings.Join(files, ", "), c, m.model.Classes)
		}
	}
	return ds, nil
}

// newBallots returns ballots with the earlier votes in ds, which may be nil.
func newBallots(classes []string, at map[string]int, ds *dataset.Dataset) *ballots {
	b := &ballots{classes: classes, earlier: map[int]*earlierVotes{}, marks: map[int][]mark{}}
	if ds == nil {
		return b
	}
	class := make([]int, len(ds.Classes))
	for i, c := range ds.Classes {
		class[i] = slices.Index(classes, c)
	}
	unknown := 0
	for j, id := range ds.Items {
		i, ok := at[id]
		if !ok {
			unknown++
			continue
		}
		g := &earlierVotes{counts: make([]float32, len(classes))}
		for k, n := range ds.CountsOf(j) {
			g.counts[class[k]] += n
		}
		b.earlier[i] = g
	}
	for _, r := range ds.Ratings {
		if i, ok := at[ds.Items[r.Item]]; ok {
			b.earlier[i].named = append(b.earlier[i].named, mark{ds.Raters[r.Rater], class[r.Class]})
		}
	}
	if unknown > 0 {
		b.notes = append(b.notes, fmt.Sprintf("earlier votes on %s that are not among the items were ignored", words.Plural(unknown, "item")))
	}
	return b
}

// record adds a line of the vote file on item i.
func (b *ballots) record(i int, v votelog.Vote) {
	list := slices.DeleteFunc(slices.Clone(b.marks[i]), func(m mark) bool { return m.rater == v.Rater })
	switch class := slices.Index(b.classes, v.Label); {
	case class >= 0:
		list = append(list, mark{v.Rater, class})
	case isCannotTell(v):
		list = append(list, mark{v.Rater, -1})
	}
	if b.marks[i] = list; len(list) == 0 {
		delete(b.marks, i)
	}
}

// own returns the vote of a rater on item i: the one in the vote file, otherwise the last in an earlier file.
func (b *ballots) own(i int, rater string) (m mark, ok bool) {
	if m, ok = b.cast(i, rater); ok || rater == "" || b.earlier[i] == nil {
		return m, ok
	}
	for _, m := range slices.Backward(b.earlier[i].named) {
		if m.rater == rater {
			return m, true
		}
	}
	return mark{}, false
}

// cast returns the vote of a rater on item i in the vote file.
func (b *ballots) cast(i int, rater string) (m mark, ok bool) {
	at := slices.IndexFunc(b.marks[i], func(m mark) bool { return m.rater == rater })
	if at < 0 || rater == "" {
		return mark{}, false
	}
	return b.marks[i][at], true
}

// of returns the votes on item i as a data set of one item, nil if there are none. If without is not "",
// votes of that rater are excluded.
func (b *ballots) of(i int, id, without string) *dataset.Dataset {
	if b.earlier[i] == nil && b.marks[i] == nil {
		return nil
	}
	ds := &dataset.Dataset{Items: []string{id}, Classes: b.classes, Counts: make([]float32, len(b.classes))}
	add := func(m mark) {
		if m.class < 0 || without != "" && m.rater == without {
			return
		}
		ds.Counts[m.class]++
		ds.Ratings = append(ds.Ratings, dataset.Rating{Rater: int32(len(ds.Raters)), Class: int32(m.class)})
		ds.Raters = append(ds.Raters, m.rater)
	}
	if g := b.earlier[i]; g != nil {
		copy(ds.Counts, g.counts)
		for _, m := range g.named {
			ds.Counts[m.class]-- // added again below unless replaced
			if now, ok := b.cast(i, m.rater); !ok || now.class < 0 {
				add(m)
			}
		}
	}
	for _, m := range b.marks[i] {
		add(m)
	}
	if ds.VotesOf(0) <= 0 {
		return nil
	}
	return ds
}

// after returns the prediction given votes, which may be nil.
func after(m *model.Model, x predict.Prediction, votes *dataset.Dataset) (predict.Prediction, error) {
	if votes == nil {
		return x, x.Err
	}
	matched, err := predict.MatchVotes(m, votes)
	if err != nil {
		return x, err
	}
	matched.UpdateAt(&x.Decoded, 0)
	return x, x.Err
}

type exportInput struct {
	Format string `query:"format" enum:"csv,labelstudio" default:"csv"`
	Safe   bool   `query:"csv_safe" default:"true" doc:"in CSV, put ' before texts that a spreadsheet would interpret as a formula; false exports them unchanged"`
}

// inSpreadsheet returns a text that a spreadsheet shows as it is: ' precedes one that it would interpret as a formula.
// Numbers, such as −1, are no formulas.
func inSpreadsheet(s string) string {
	if s == "" || strings.IndexByte("=+-@\t\r", s[0]) < 0 {
		return s
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return s
	}
	return "'" + s
}

// exportVotes returns the current votes of the server's vote file.
func (s *Server) exportVotes(ctx context.Context, in *exportInput) (*fileResponse, error) {
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
				row := []string{v.Item, v.Rater, v.Label}
				if in.Safe {
					row = words.Each(row, inSpreadsheet)
				}
				w.Write(row)
			}
		}
		w.Flush()
		return &fileResponse{ContentType: "text/csv; charset=utf-8", ContentDisposition: `attachment; filename="votes.csv"`, CacheControl: "no-store", Body: b.Bytes()}, w.Error()
	}
	tasks, err := withItems(s, (*rankedItems).tasks)(ctx, &votes)
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(tasks, "", " ")
	err = cmp.Or(err, s.options.Limits.checkResponse(int64(len(text))))
	return &fileResponse{ContentType: "application/json", ContentDisposition: `attachment; filename="votes-labelstudio.json"`, CacheControl: "no-store", Body: append(text, '\n')}, err
}

// counting returns the last line of each rater on each item, in the order of the file, without withdrawn
// votes.
func counting(lines []votelog.Vote) []votelog.Vote {
	last := map[itemRater]int{}
	for i, v := range lines {
		last[itemRater{v.Item, v.Rater}] = i
	}
	var list []votelog.Vote
	for i, v := range lines {
		if last[itemRater{v.Item, v.Rater}] == i && (v.Label != "" || isCannotTell(v)) {
			list = append(list, v)
		}
	}
	return list
}

// task is an item with votes in Label Studio's JSON format.
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

// tasks returns the items with votes. A rater who is undecided is exported as a canceled
// annotation.
func (p *rankedItems) tasks(ctx context.Context, votes *[]votelog.Vote) ([]task, error) {
	list, place := []task{}, map[string]int{}
	for n, v := range *votes {
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

// task returns item i with its prediction and those of its features that are numbers or text.
func (p *rankedItems) task(i int) (task, error) {
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
