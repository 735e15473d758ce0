package serve

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"credence/internal/fault"
	"credence/internal/par"
	"credence/internal/votelog"
	"credence/internal/words"
	"credence/predict"
)

// Queue defines the items that people review and vote on.
type Queue struct {
	// Items are files of items, as for credence predict: the second and
	// further files are joined to the first. Without items there is no queue.
	Items []string
	// Earlier are files with earlier votes on the items.
	Earlier []string
	// By are columns of the items to filter by, in addition to the model's categorical features.
	By []string
	// Instructions, if set, is a Markdown file that the page shows to raters.
	Instructions string
	// PerItem, if not 0, is the number of raters to assign to each item: an item with that many votes, or with
	// raters who are about to vote on it, is not offered to others.
	PerItem int
}

// queue holds the items that people review and vote on, ordered by the value of a vote. Items are
// predicted in the background; a vote changes only the numbers of its own item.
type queue struct {
	server      *Server
	options     Queue
	done, total atomic.Int64    // items predicted, and all items; total is 0 if unknown
	ctx         context.Context // of the prediction in the background
	stop        context.CancelFunc
	idle        sync.WaitGroup

	mu       sync.RWMutex
	items    *rankedItems      // nil until the first is ready
	building *served           // the model of the current or last prediction of the items
	failed   error             // why it has no items
	seen     int               // lines of the vote file that items includes
	version  int               // incremented with every change
	skipped  map[itemRater]int // when items were skipped, as a count of skips
	skips    int

	holdMu sync.Mutex
	held   map[string]reservation // by rater
}

// rankedItems holds the items as predicted by one model. Only what depends on votes changes.
type rankedItems struct {
	queue   *queue
	of      *served
	ids     []string
	at      map[string]int // id → index
	rows    rowStore
	bad     map[int]string // why an item has no prediction
	twice   int            // rows with the id of an earlier row
	facets  []facet
	notes   []string // warnings about the items
	ballots *ballots

	level float64    // of the intervals
	prior []*numbers // before any votes; nil for items without a prediction
	now   []*numbers // given all votes; the same as prior if there are none
	order []int      // items by the value of a vote, largest first
	rank  []int      // index in order; −1 for items without a prediction

	first, variance float64 // the sum of variances after the prediction, and now
	line            int     // lines of the vote file when the items were ready
	counted         int     // lines of the vote file that the ballots include
}

// mostNumbers bounds items × classes of a queue.
const mostNumbers = 4 << 20

// newQueue starts to predict the items in the background.
func newQueue(s *Server, o Queue) (*queue, error) {
	m, err := s.registry.get("", "")
	if err != nil {
		return nil, fmt.Errorf("--items requires a single model: %w", err)
	}
	if !m.model.Traits().Joint {
		return nil, fmt.Errorf("--items: the value of a vote requires a model that predicts distributions, found method %s", m.model.Method.Name())
	}
	for _, path := range slices.Concat(o.Items, o.Earlier) {
		if _, err := os.Stat(path); err != nil {
			return nil, fault.Of(path, err)
		}
	}
	if _, err := readInstructions(o.Instructions); err != nil {
		return nil, err
	}
	// Files that cannot be items of the model, such as votes, are refused at once. Votes of judges may be among the earlier ones.
	earlier, err := readEarlierVotes(context.Background(), m, o.Earlier)
	if err != nil {
		return nil, fmt.Errorf("--earlier: %w", err)
	}
	in, err := openItems(context.Background(), m, &o, earlier)
	if err != nil {
		return nil, fmt.Errorf("--items: %w", err)
	}
	in.Close()
	ctx, stop := context.WithCancel(context.Background())
	q := &queue{server: s, options: o, ctx: ctx, stop: stop, skipped: map[itemRater]int{}}
	q.build(m)
	return q, nil
}

// close stops the prediction in the background and frees the rows.
func (q *queue) close() {
	q.stop()
	q.idle.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.items != nil {
		q.items.rows.close()
	}
}

// build predicts the items with a model in the background. Until that is done, the previous items stay
// in use.
func (q *queue) build(m *served) {
	q.building, q.failed = m, nil
	q.done.Store(0)
	q.total.Store(0)
	q.idle.Go(func() {
		p, err := q.rankItems(q.ctx, m)
		q.mu.Lock()
		defer q.mu.Unlock()
		if err != nil {
			if p != nil {
				p.rows.close()
			}
			if q.failed = err; q.ctx.Err() == nil {
				q.server.options.Log.Error("reading the items failed", "error", err)
			}
			return
		}
		if q.items != nil {
			q.items.rows.close()
		}
		q.items, q.seen = p, 0
		q.version++
		q.catchUp()
		p.first, p.line = p.variance, q.seen
		q.server.options.Log.Info("items ready", "items", len(p.ids), "model", m.name, "version", m.version)
	})
}

var errNoItems = failf(http.StatusNotFound, "this server has no items: start it with --items FILE")

// get returns the items, locked for reading until release is called.
func (q *queue) get() (p *rankedItems, release func(), err error) {
	if q == nil {
		return nil, nil, errNoItems
	}
	q.renew()
	q.mu.RLock()
	switch {
	case q.items != nil:
		return q.items, q.mu.RUnlock, nil
	case q.failed != nil:
		err = failf(http.StatusConflict, "the items cannot be read: %w", q.failed)
	default:
		err = failf(http.StatusServiceUnavailable, "items are being predicted: %s", q.progress())
	}
	q.mu.RUnlock()
	return nil, nil, err
}

// progress describes the progress of the prediction of the items.
func (q *queue) progress() string {
	done, total := int(q.done.Load()), int(q.total.Load())
	if total == 0 {
		return words.Thousands(done)
	}
	return words.Thousands(done) + " of " + words.Thousands(total)
}

// renew predicts the items again if the model was replaced.
func (q *queue) renew() {
	m, err := q.server.registry.get("", "")
	if err != nil {
		return
	}
	q.mu.RLock()
	same := m == q.building
	q.mu.RUnlock()
	if same || !m.model.Traits().Joint {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if m != q.building && (q.items == nil || q.items.of == q.building || q.failed != nil) {
		q.build(m)
	}
}

// voted adds new votes of the vote file to the items.
func (q *queue) voted() {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.catchUp()
}

// catchUp adds new votes of the vote file to the items. The queue must be locked.
func (q *queue) catchUp() {
	if q.items == nil {
		return
	}
	news := q.server.voted(q.seen)
	for _, v := range news {
		if _, ok := q.items.at[v.Item]; ok {
			by := itemRater{v.Item, v.Rater}
			if isSkip(v) {
				q.skipTo(by)
				q.version++
			} else {
				q.unskip(by)
			}
		}
	}
	// Items that were just predicted include the votes until then.
	touched := q.items.count(news[min(max(q.items.counted-q.seen, 0), len(news)):])
	q.seen += len(news)
	if len(touched) == 0 {
		return
	}
	q.version++
	list := slices.Sorted(maps.Keys(touched))
	if len(list) == 1 {
		q.items.move(list[0])
	} else {
		q.items.update(list)
	}
}

// voted returns the votes of the vote file from a line on, or none without a file.
func (s *Server) voted(from int) []votelog.Vote {
	if s.votes == nil {
		return nil
	}
	return s.votes.Votes(from)
}

// itemRater is an item and a rater who voted on it or skipped it.
type itemRater struct{ item, rater string }

// forRater returns at most limit items of a rater's queue, starting at index from, and the length of the
// queue: items that the rater has not voted on, by the value of a vote, then those that the rater skipped. If items
// are assigned, those that have their raters are left out.
func (p *rankedItems) forRater(ctx context.Context, rater string, from, limit int) (list []int, left int, err error) {
	later := map[int]bool{}
	var last []int
	when := map[int]int{}
	for s, n := range p.queue.skipped {
		if i, ok := p.at[s.item]; ok && s.rater == rater {
			later[i] = true
			last, when[i] = append(last, i), n
		}
	}
	slices.SortFunc(last, func(a, b int) int { return cmp.Compare(when[a], when[b]) })
	var held map[string]int
	most := p.queue.options.PerItem
	if most > 0 {
		held = p.queue.reserved(rater)
	}
	take := func(i int) {
		if most > 0 && p.assigned(i)+held[p.ids[i]] >= most {
			return
		}
		if left >= from && len(list) < limit {
			list = append(list, i)
		}
		left++
	}
	for k, i := range p.order {
		if err := stopped(ctx, k); err != nil {
			return nil, 0, err
		}
		if _, voted := p.ballots.own(i, rater); !voted && !later[i] {
			take(i)
		}
	}
	for _, i := range last {
		if p.rank[i] >= 0 {
			take(i)
		}
	}
	return list, left, nil
}

// byValue compares items by the value of a vote, then by their order in the file.
func (p *rankedItems) byValue(a, b int) int {
	return cmp.Or(cmp.Compare(p.now[b].gain, p.now[a].gain), cmp.Compare(a, b))
}

// predict returns the prediction for item i without votes.
func (p *rankedItems) predict(ctx context.Context, i int) (predict.Prediction, error) {
	ds, err := p.rows.dataset(i, p.ids[i])
	if err != nil {
		return predict.Prediction{}, err
	}
	list, err := predict.New(p.of.model, predict.Options{BatchValues: batchValues}).Dataset(ctx, ds)
	if err != nil {
		return predict.Prediction{}, err
	}
	return list[0], list[0].Err
}

// renumber computes the numbers of item i given its votes.
func (p *rankedItems) renumber(i int) {
	if p.now[i] == nil {
		return
	}
	votes := p.ballots.of(i, p.ids[i], "")
	if votes == nil {
		p.now[i] = p.prior[i]
		return
	}
	a, err := p.predict(context.Background(), i)
	if err == nil {
		a, err = after(p.of.model, a, votes)
	}
	if err == nil {
		p.now[i] = numbersOf(&a, p.level)
	}
}

// move recomputes the numbers of item i and moves it to its new rank.
func (p *rankedItems) move(i int) {
	if p.now[i] == nil {
		return
	}
	p.order = slices.Delete(p.order, p.rank[i], p.rank[i]+1)
	p.variance -= p.now[i].variance
	p.renumber(i)
	p.variance += p.now[i].variance
	to, _ := slices.BinarySearchFunc(p.order, i, p.byValue)
	from := min(to, p.rank[i])
	p.order = slices.Insert(p.order, to, i)
	for k := from; k < len(p.order); k++ {
		p.rank[p.order[k]] = k
	}
}

// update recomputes the numbers of some items and the order of all.
func (p *rankedItems) update(list []int) {
	par.For(len(list), func(k int) { p.renumber(list[k]) })
	p.sort()
}

// sort computes the order, the ranks and the sum of variances of all items.
func (p *rankedItems) sort() {
	p.order, p.rank, p.variance = p.order[:0], make([]int, len(p.ids)), 0
	for i, n := range p.now {
		p.rank[i] = -1
		if n != nil {
			p.order = append(p.order, i)
			p.variance += n.variance
		}
	}
	slices.SortFunc(p.order, p.byValue)
	for k, i := range p.order {
		p.rank[i] = k
	}
}
