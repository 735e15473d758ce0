package serve

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"credence/dataset"
	"credence/predict"
)

// desk starts a server with forty items. The first ten have earlier votes, and item i7 cannot be
// read.
func desk(t *testing.T, o Options) (s *Server, base string, votes string) {
	t.Helper()
	dir := t.TempDir()
	var items, earlier strings.Builder
	items.WriteString("item,age,sex,site\n")
	earlier.WriteString("item,rater,label\n")
	for i := range 40 {
		age := fmt.Sprint(20 + i*37%61)
		if i == 7 {
			age = "old"
		}
		fmt.Fprintf(&items, "i%d,%s,%s,s%d\n", i, age, []string{"f", "m"}[i%2], i%3)
		if i < 10 {
			fmt.Fprintf(&earlier, "i%d,zoe,%s\ni%d,yan,no\n", i, []string{"no", "yes"}[i%2], i)
		}
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	o.Queue = Queue{Items: []string{write("items.csv", items.String())}, Earlier: []string{write("earlier.csv", earlier.String())}, By: []string{"site"}}
	o.Votes = filepath.Join(dir, "votes.csv")
	s, base = start(t, o)
	await(t, s)
	return s, base, o.Votes
}

// await waits until the items are predicted.
func await(t *testing.T, s *Server) {
	t.Helper()
	for range 1000 {
		_, release, err := s.queue.get()
		if err == nil {
			release()
			return
		}
		if statusOf(err) != http.StatusServiceUnavailable {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the items are not ready")
}

// call sends a request, decodes the JSON response and returns the status.
func call(t *testing.T, method, address string, body, to any) int {
	t.Helper()
	var in io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		in = bytes.NewReader(text)
	}
	r, err := http.NewRequest(method, address, in)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if to != nil && resp.StatusCode < 300 {
		if err := json.Unmarshal(text, to); err != nil {
			t.Fatalf("%s %s: %v in %s", method, address, err, text)
		}
	}
	return resp.StatusCode
}

// want is like call for requests that must succeed.
func want[T any](t *testing.T, method, address string, body any) T {
	t.Helper()
	var to T
	if status := call(t, method, address, body, &to); status >= 300 {
		t.Fatalf("%s %s: status %d", method, address, status)
	}
	return to
}

type queueJSON struct {
	Items    []listedItem
	Progress queueProgress
}

// gainsOf computes the gains that credence next prints, by the same calls, given the votes of all files, and the sum of
// the variances of all items.
func gainsOf(t *testing.T, s *Server, files ...string) (gains map[string]float64, variance float64) {
	t.Helper()
	m := s.queue.items.of.model
	votes, err := dataset.Load(context.Background(), dataset.LoadOptions{Votes: files, VotesOptions: dataset.VotesOptions{Classes: m.Classes}})
	if err != nil {
		t.Fatal(err)
	}
	voted, err := predict.MatchVotes(m, votes)
	if err != nil {
		t.Fatal(err)
	}
	in, err := dataset.OpenStream(context.Background(), s.options.Queue.Items[0], m.Transform.Schema(), dataset.StreamOptions{KeepBad: true})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	gains = map[string]float64{}
	for b, err := range predict.New(m, predict.Options{Votes: voted}).Run(context.Background(), in) {
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range b.Predictions {
			if p.Err == nil {
				gains[p.Item], _ = p.Dist.Gain(1)
				for _, v := range p.Variance {
					variance += v
				}
			}
		}
	}
	return gains, variance
}

// sameGains checks the whole queue of a new rater, and the sum of variances that it shows.
func sameGains(t *testing.T, s *Server, base string, files ...string) {
	t.Helper()
	expected, variance := gainsOf(t, s, files...)
	got := want[queueJSON](t, "GET", base+"/api/v1/queue?rater=nobody&limit=1000", nil)
	if len(got.Items) != len(expected) {
		t.Errorf("the queue has %d items, want %d", len(got.Items), len(expected))
	}
	if v := got.Progress.Variance; math.Abs(v-variance) > 1e-9 {
		t.Errorf("the sum of variances is %v, want %v", v, variance)
	}
	last := math.Inf(1)
	for _, x := range got.Items {
		if x.Gain != expected[x.Item] {
			t.Errorf("item %s: a vote is worth %v, credence next says %v", x.Item, x.Gain, expected[x.Item])
		}
		if x.Gain > last {
			t.Errorf("item %s: worth %v, after one worth %v", x.Item, x.Gain, last)
		}
		last = x.Gain
	}
}

func TestQueueByValue(t *testing.T) {
	s, base, votes := desk(t, Options{})
	sameGains(t, s, base, s.options.Queue.Earlier[0])
	var cast sync.WaitGroup
	for k, rater := range []string{"ann", "بوب", "<b>cy</b>"} { // several at once, each on the best of her queue
		cast.Go(func() {
			for n := range 6 {
				q := want[queueJSON](t, "GET", base+"/api/v1/queue?limit=1&rater="+url.QueryEscape(rater), nil)
				vote := apiVote{Item: q.Items[0].Item, Rater: rater, Label: []string{"no", "yes"}[(n+k)%2], Key: fmt.Sprint(k, n)}
				if status := call(t, "POST", base+"/api/v1/votes", vote, nil); status != 201 {
					t.Errorf("vote %v: status %d", vote, status)
				}
			}
		})
	}
	cast.Wait()
	// zoe already voted in the earlier file; this vote replaces it, as in training.
	want[any](t, "POST", base+"/api/v1/votes", apiVote{Item: "i3", Rater: "zoe", Label: "no"})
	sameGains(t, s, base, s.options.Queue.Earlier[0], votes)
	q := want[queueJSON](t, "GET", base+"/api/v1/queue?rater=ann", nil)
	if g := q.Progress; g.Own != 6 || g.Votes != 19 || g.Raters != 4 || g.Left != 33 || g.Variance == g.First {
		t.Errorf("progress %+v", g)
	}
	s.Close()
	again, err := New(s.options)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	await(t, again)
	if got := again.queue.items.progress("ann"); got.Own != 6 || got.Votes != 19 || math.Abs(got.Variance-q.Progress.Variance) > 1e-9 {
		t.Errorf("after a restart: %+v, before %+v", got, q.Progress)
	}
}

func TestQueueUndoSkipAndCannotTell(t *testing.T) {
	s, base, votes := desk(t, Options{})
	best := func() string {
		return want[queueJSON](t, "GET", base+"/api/v1/queue?rater=ann&limit=1", nil).Items[0].Item
	}
	first := best()
	want[any](t, "POST", base+"/api/v1/votes", apiVote{Item: first, Rater: "ann", Label: "yes", Key: "1"})
	second := best()
	if second == first {
		t.Fatal("the item is asked for again")
	}
	want[any](t, "DELETE", base+"/api/v1/votes?item="+first+"&rater=ann&key=2", nil)
	if best() != first {
		t.Error("a vote taken back leaves the item out")
	}
	sameGains(t, s, base, s.options.Queue.Earlier[0], votes)
	if status := call(t, "POST", base+"/api/v1/queue/skip", map[string]string{"item": first, "rater": "ann"}, nil); status != 204 {
		t.Errorf("skipping: status %d", status)
	}
	if best() != second {
		t.Error("an item that was put off is first")
	}
	all := want[queueJSON](t, "GET", base+"/api/v1/queue?rater=ann&limit=1000", nil).Items
	if all[len(all)-1].Item != first {
		t.Error("an item that was put off is not last")
	}
	want[any](t, "POST", base+"/api/v1/votes", apiVote{Item: second, Rater: "ann", CannotTell: true, Key: "3"})
	want[any](t, "POST", base+"/api/v1/votes", apiVote{Item: second, Rater: "ann", CannotTell: true, Key: "3"})
	if best() == second {
		t.Error("an item that she cannot tell is asked for again")
	}
	sameGains(t, s, base, s.options.Queue.Earlier[0], votes)
	view := want[itemView](t, "GET", base+"/api/v1/item?rater=ann&id="+second, nil)
	if view.Own == nil || !view.Own.CannotTell || view.Hidden || view.Votes.CannotTell != 1 {
		t.Errorf("she said that she cannot tell: %+v", view)
	}
	for _, bad := range []apiVote{{Item: "i1", Rater: "ann", Label: "yes", CannotTell: true}, {Item: "i1", Rater: "ann", Label: "yes", Key: cannotTell + "x"}, {Item: "i1", Rater: "ann", Label: "perhaps"}} {
		if status := call(t, "POST", base+"/api/v1/votes", bad, nil); status != 400 {
			t.Errorf("vote %+v: status %d", bad, status)
		}
	}
	if status := call(t, "POST", base+"/api/v1/queue/skip", map[string]string{"item": "nothing", "rater": "ann"}, nil); status != 404 {
		t.Errorf("skipping what there is not: status %d", status)
	}
}

func TestVotesAreHidden(t *testing.T) {
	s, base, _ := desk(t, Options{})
	see := func(rater string) itemView {
		return want[itemView](t, "GET", base+"/api/v1/item?id=i1&rater="+rater, nil)
	}
	open := see("")
	blind := see("ann")
	if open.Votes == nil || open.Votes.Counts[0] != 1 || open.Votes.Counts[1] != 1 || open.Hidden {
		t.Errorf("without a name: %+v", open.Votes)
	}
	if blind.Votes != nil || !blind.Hidden || blind.Now.Classes[1].Mean == open.Now.Classes[1].Mean {
		t.Error("a rater who has not voted sees what others said")
	}
	if p := s.queue.items.prior[s.queue.items.at["i1"]]; blind.Now.Classes[1].Mean != p.mean[1] {
		t.Error("a rater who has not voted does not see the prediction alone")
	}
	for _, path := range []string{"/api/v1/items?contains=i1&limit=1&order=input&rater=ann", "/api/v1/queue?limit=1000&rater=ann"} {
		for _, x := range want[queueJSON](t, "GET", base+path, nil).Items {
			if x.Item == "i1" && (x.Votes != nil || x.Mean != blind.Now.Classes[1].Mean) {
				t.Errorf("%s shows others' votes: %+v", path, x)
			}
		}
	}
	q := points{}
	if status := call(t, "GET", base+"/api/v1/items/points?rater=ann", nil, &q); status != 200 || q.Agree[1] != 4 || q.Votes[1] != 0 || q.Agree[20] != 3 {
		t.Errorf("points: status %d, %v, %v", status, q.Agree, q.Votes)
	}
	what := map[string]any{"item": "i1", "rater": "ann", "votes": map[string]float64{"yes": 2}}
	if dist := want[itemDist](t, "POST", base+"/api/v1/item/posterior", what); dist.Classes[1].Mean <= blind.Now.Classes[1].Mean {
		t.Error("two more votes for a class do not raise it")
	}
	want[any](t, "POST", base+"/api/v1/votes", apiVote{Item: "i1", Rater: "ann", Label: "yes"})
	after := see("ann")
	if after.Hidden || after.Votes == nil || after.Votes.Counts[1] != 2 || after.Own == nil || after.Own.Label != "yes" {
		t.Errorf("after her vote: %+v, %+v", after.Votes, after.Own)
	}
	if after.Before == nil || after.Before.Classes[1].Mean != open.Now.Classes[1].Mean || after.Before.Variance <= after.Now.Variance {
		t.Error("what was before her vote is not what others said")
	}
	if other := see("bob"); !other.Hidden || other.Votes != nil {
		t.Error("her vote is shown to another rater")
	}
	sum := 0.0
	for _, f := range after.Now.Density {
		sum += f / densityPieces
	}
	if math.Abs(sum-1) > 1e-3 {
		t.Errorf("the density holds %v", sum)
	}
}

func TestItemFilters(t *testing.T) {
	_, base, _ := desk(t, Options{})
	type list struct {
		Total int
		Items []listedItem
		Next  int
	}
	get := func(query string) list { return want[list](t, "GET", base+"/api/v1/items?"+query, nil) }
	all := get("order=input&limit=1000")
	if all.Total != 39 || len(all.Items) != 39 || all.Items[0].Item != "i0" || all.Next != 0 {
		t.Errorf("%d items, %d listed", all.Total, len(all.Items))
	}
	count := func(ok func(x listedItem) bool) (n int) {
		for _, x := range all.Items {
			if ok(x) {
				n++
			}
		}
		return n
	}
	for query, want := range map[string]int{
		"min_mean=0.5":                  count(func(x listedItem) bool { return x.Mean >= 0.5 }),
		"max_width=0.6":                 count(func(x listedItem) bool { return x.Upper-x.Lower <= 0.6 }),
		"max_top=0.9":                   count(func(x listedItem) bool { return x.Top <= 0.9 }),
		"predicted=yes":                 count(func(x listedItem) bool { return x.Predicted == "yes" }),
		"group=site:s1":                 13 - 1, // i7 cannot be read
		"group=site:s1&group=sex:f":     6,
		"group=site:s0&group=site:s2":   27,
		"contains=I3":                   11,
		"group=site:s1&contains=nobody": 0,
	} {
		if got := get(query); got.Total != want {
			t.Errorf("%s: %d items, want %d", query, got.Total, want)
		}
	}
	page := get("order=width&limit=10&from=5")
	if len(page.Items) != 10 || page.Next != 15 || page.Items[0].Upper-page.Items[0].Lower < page.Items[9].Upper-page.Items[9].Lower {
		t.Errorf("a page: %d items, next %d", len(page.Items), page.Next)
	}
	for _, query := range []string{"class=perhaps", "predicted=perhaps", "group=site", "group=site:s9", "group=age:3"} {
		if status := call(t, "GET", base+"/api/v1/items?"+query, nil, nil); status != 400 {
			t.Errorf("%s: status %d", query, status)
		}
	}
	bad := want[itemView](t, "GET", base+"/api/v1/item?id=i7", nil)
	if bad.Now != nil || !strings.Contains(bad.Error, "old") {
		t.Errorf("an item that cannot be read: %+v", bad)
	}
	if status := call(t, "GET", base+"/api/v1/item?id=i77", nil, nil); status != 404 {
		t.Errorf("an item that there is not: status %d", status)
	}
}

func TestExport(t *testing.T) {
	s, base, votes := desk(t, Options{})
	for _, v := range []apiVote{
		{Item: "i1", Rater: "ann", Label: "no"}, {Item: "i1", Rater: "ann", Label: "yes"}, {Item: "i2", Rater: "ann", Label: "yes"},
		{Item: "i2", Rater: "ann"}, {Item: "i3", Rater: `b,"o"b`, CannotTell: true}, {Item: "i1", Rater: `b,"o"b`, Label: "no"},
	} {
		want[any](t, "POST", base+"/api/v1/votes", v)
	}
	resp, err := http.Get(base + "/api/v1/votes/export")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	rows, err := csv.NewReader(resp.Body).ReadAll()
	if err != nil || fmt.Sprint(rows) != `[[item rater label] [i1 ann yes] [i1 b,"o"b no]]` {
		t.Errorf("%v, %v", rows, err)
	}
	// Training reads the same from the server's own file.
	ds, err := dataset.ReadVotes(context.Background(), votes, dataset.VotesOptions{Classes: s.queue.items.of.model.Classes})
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]string{}
	for j, id := range ds.Items {
		counts[id] = fmt.Sprint(ds.CountsOf(j))
	}
	if counts["i1"] != "[1 1]" || counts["i2"] != "" && counts["i2"] != "[0 0]" || counts["i3"] != "" && counts["i3"] != "[0 0]" {
		t.Errorf("the file of votes holds %v", counts)
	}
	tasks := want[[]task](t, "GET", base+"/api/v1/votes/export?format=labelstudio", nil)
	if len(tasks) != 2 || len(tasks[0].Annotations) != 2 || !tasks[1].Annotations[0].WasCancelled || tasks[0].Data["item"] != "i1" || tasks[0].Data["sex"] != "m" {
		t.Errorf("%+v", tasks)
	}
}

// TestModelReplaced checks that the queue follows a model that is trained again.
func TestModelReplaced(t *testing.T) {
	s, base, _ := desk(t, Options{Reload: time.Hour})
	before := want[queueJSON](t, "GET", base+"/api/v1/queue?rater=ann&limit=1", nil)
	want[any](t, "POST", base+"/api/v1/votes", apiVote{Item: before.Items[0].Item, Rater: "ann", Label: "yes"})
	save(t, fitted()[1], s.options.Path)
	if err := os.Chtimes(filepath.Join(s.options.Path, "model.credence"), time.Now(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	old := s.queue.items
	for range 1000 {
		if p, release, err := s.queue.get(); err != nil {
			t.Fatal(err)
		} else if release(); p != old {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if q := want[queueJSON](t, "GET", base+"/api/v1/queue?rater=ann", nil); q.Progress.Own != 1 || s.queue.items == old {
		t.Errorf("after a new model: %+v", q.Progress)
	}
}

func TestQueueRefused(t *testing.T) {
	_, base := start(t, Options{})
	for _, path := range []string{"/api/v1/items", "/api/v1/queue?rater=ann", "/api/v1/item?id=x", "/api/v1/items/progress", "/api/v1/votes/export"} {
		if status := call(t, "GET", base+path, nil, nil); status != 404 {
			t.Errorf("%s without items: status %d", path, status)
		}
	}
	folder := t.TempDir()
	items := filepath.Join(folder, "nothing.csv")
	save(t, fitted()[0], folder, "first")
	if _, err := New(Options{Path: filepath.Join(folder, "first"), Queue: Queue{Items: []string{items}}}); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "nothing.csv: ") {
		t.Errorf("items that are not there: %v", err)
	}
	if err := os.WriteFile(items, []byte("item,height\na,3\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{Path: filepath.Join(folder, "first"), Queue: Queue{Items: []string{items}}}); err == nil || !strings.Contains(err.Error(), `nothing.csv: no column "age"`) {
		t.Errorf("a table without the features: %v", err)
	}
	votes := filepath.Join(folder, "votes.csv")
	if err := errors.Join(os.WriteFile(items, []byte("item,age,sex\na,3,f\n"), 0o666), os.WriteFile(votes, []byte("item,rater,label\na,zoe,perhaps\n"), 0o666)); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{Path: filepath.Join(folder, "first"), Queue: Queue{Items: []string{items}, Earlier: []string{votes}}}); err == nil || !strings.Contains(err.Error(), "perhaps") {
		t.Errorf("votes for another class: %v", err)
	}
	s, base := start(t, Options{Queue: Queue{Items: []string{items}, By: []string{"site"}}})
	s.queue.idle.Wait()
	var progress struct{ Error string }
	call(t, "GET", base+"/api/v1/items/progress", nil, &progress)
	if status := call(t, "GET", base+"/api/v1/items", nil, nil); status != 409 || !strings.Contains(progress.Error, "site") {
		t.Errorf("a column that is not there: status %d, %q", status, progress.Error)
	}
}

// TestRowStore checks rows that do not fit in memory and are stored in a file.
func TestRowStore(t *testing.T) {
	ds := people(30)
	ds.Features = append(ds.Features, dataset.Feature{Name: "note", Kind: dataset.Text, Texts: []string{"", "größer", "three"}})
	rows := &dataset.Memory{N: 30, W: 3}
	for i := range 30 {
		rows.Values = append(rows.Values, float32(i), float32(i%2), float32(i%3))
	}
	ds.Rows = rows
	s := rowStore{most: 200}
	defer s.close()
	for i := range 30 {
		if row, err := s.add(&dataset.Batch{Dataset: ds}, i); err != nil || row[0] != float32(i) {
			t.Fatalf("item %d: %v, %v", i, row, err)
		}
	}
	if s.file == nil || len(s.memory) == 0 || len(s.memory) > 200 {
		t.Fatalf("%d bytes in memory", len(s.memory))
	}
	for i := range 30 {
		one, err := s.dataset(i, "x")
		if err != nil {
			t.Fatal(err)
		}
		f := featuresOf(one)
		if *f[0].Value != float64(i) || f[1].Text != []string{"f", "m"}[i%2] || f[2].Text != ds.Features[2].Texts[i%3] {
			t.Errorf("item %d: %+v", i, f)
		}
	}
}
