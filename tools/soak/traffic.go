//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"
)

// call is one kind of request: how often it is sent, among all, and what sends it.
type call struct {
	weight int
	send   func(s *soak, v *server, random *rand.Rand)
}

var calls = []call{
	{40, (*soak).castVote},
	{4, (*soak).repeatVote},
	{1, (*soak).reuseKey},
	{3, (*soak).withdraw},
	{4, (*soak).resendOne},
	{16, (*soak).predict},
	{3, reads("/v2/models/soak/infer", "application/json", func(i item) string {
		return fmt.Sprintf(`{"inputs":[{"name":"x1","datatype":"FP64","shape":[1],"data":[%g]},{"name":"x2","datatype":"FP64","shape":[1],"data":[%g]},`+
			`{"name":"site","datatype":"BYTES","shape":[1],"data":[%q]}]}`, i.x1, i.x2, i.site)
	})},
	{3, reads("/invocations", "text/csv", func(i item) string { return string(table([]item{i})) })},
	{6, asks("/api/v1/queue?limit=5&rater=r%d")},
	{6, (*soak).lookAtItem},
	{3, asks("/api/v1/items?limit=20&rater=r%d")},
	{2, asks("/api/v1/health?x=%d")},
	{1, asks("/metrics?x=%d")},
	{2, asks("/?x=%d")},
	{2, (*soak).skip},
	{2, (*soak).leave},
	{2, (*soak).nonsense},
}

// traffic sends requests at the rate until ctx is done, to the servers in turn, whether or not earlier ones were answered.
func (s *soak) traffic(ctx context.Context) {
	random := rand.New(rand.NewPCG(s.seed, 2))
	tick := time.NewTicker(time.Duration(float64(time.Second) / s.rate))
	defer tick.Stop()
	slots := make(chan struct{}, 64) // below the servers' limit for one client
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		v, own := s.servers[n%len(s.servers)], rand.New(rand.NewPCG(s.seed, random.Uint64()))
		at := random.IntN(totalWeight)
		var c call
		for _, c = range calls {
			if at -= c.weight; at < 0 {
				break
			}
		}
		if !s.quiet.TryRLock() {
			continue
		}
		select {
		case slots <- struct{}{}:
		default:
			s.quiet.RUnlock()
			s.counts.late.Add(1)
			continue
		}
		s.work.Go(func() {
			defer func() { <-slots; s.quiet.RUnlock() }()
			c.send(s, v, own)
		})
	}
}

var totalWeight = func() (sum int) {
	for _, c := range calls {
		sum += c.weight
	}
	return sum
}()

// request sends a request and returns its status, 0 if the server was ended meanwhile. Any status but those expected is
// a failure, except 507 and, of reads, 409 while the disk is full, and 503 while items are predicted.
func (s *soak) request(v *server, method, path, kind, body string, expected ...int) (int, []byte) {
	down, full := v.down.load(), s.full.load()
	status, answer, err := s.do(context.Background(), v, method, path, kind, []byte(body))
	if err != nil {
		if v.down.since(down) {
			s.counts.interrupted.Add(1)
		} else {
			s.failf("%s: %s %s: %v", v.name, method, path, err)
		}
		return 0, nil
	}
	for _, e := range expected {
		if status == e {
			return status, answer
		}
	}
	switch {
	case status == http.StatusInsufficientStorage && s.full.since(full):
		s.counts.noSpace.Add(1)
	case status == http.StatusConflict && method == "GET" && (s.full.since(full) || time.Since(time.Unix(0, s.freed.Load())) < 3*time.Second):
		s.counts.noSpace.Add(1) // the monitor cannot save its state, and tries again every second
	case status == http.StatusServiceUnavailable && v.down.since(down):
		s.counts.interrupted.Add(1) // it was being stopped
	case status == http.StatusServiceUnavailable && queued(path):
		s.counts.notReady.Add(1)
	default:
		s.failf("%s: %s %s: expected status %v, found %d: %.300s", v.name, method, path, expected, status, answer)
	}
	return status, answer
}

// queued reports whether a route waits for the predictions of all items.
func queued(path string) bool {
	for _, route := range []string{"/api/v1/queue", "/api/v1/item", "/api/v1/items", "/api/v1/health", "/api/v1/votes"} {
		if len(path) >= len(route) && path[:len(route)] == route {
			return true
		}
	}
	return false
}

// post sends a vote and notes whether it was acknowledged.
func (s *soak) post(v *server, key string, x vote) {
	body, _ := json.Marshal(map[string]string{"item": x.item, "rater": x.rater, "label": x.label, "key": key})
	if status, _ := s.request(v, "POST", "/api/v1/votes", "application/json", string(body), http.StatusCreated); status == http.StatusCreated {
		v.ledger.acknowledge(key)
	} else {
		v.ledger.unanswered(key)
	}
}

func (s *soak) castVote(v *server, random *rand.Rand) {
	i := s.items.voteOn(float64(time.Since(s.began))/float64(s.length), random)
	x := vote{i.id, fmt.Sprint("r", random.IntN(raters)), s.items.label(i, random)}
	if random.IntN(50) == 0 {
		x.label = "" // withdraws
	}
	s.post(v, v.ledger.add(x), x)
}

// repeatVote sends an acknowledged vote again, as a client does that did not see the acknowledgement.
func (s *soak) repeatVote(v *server, random *rand.Rand) {
	if key, x, ok := v.ledger.known(random); ok {
		s.post(v, key, x)
		s.counts.repeats.Add(1)
	}
}

// reuseKey sends another vote under the key of an acknowledged one, which must be refused.
func (s *soak) reuseKey(v *server, random *rand.Rand) {
	key, x, ok := v.ledger.known(random)
	if !ok {
		return
	}
	body, _ := json.Marshal(map[string]string{"item": x.item, "rater": x.rater + "-other", "label": "yes", "key": key})
	s.request(v, "POST", "/api/v1/votes", "application/json", string(body), http.StatusConflict)
}

// withdraw deletes a vote; 404 is a vote that was withdrawn meanwhile.
func (s *soak) withdraw(v *server, _ *rand.Rand) {
	x, ok := v.ledger.takeStanding()
	if !ok {
		return
	}
	query := url.Values{"item": {x.item}, "rater": {x.rater}}
	if status, _ := s.request(v, "DELETE", "/api/v1/votes?"+query.Encode(), "", "", http.StatusOK, http.StatusNotFound); status == http.StatusOK {
		v.ledger.withdrawn(x)
	}
}

// resendOne sends a vote again that was not acknowledged.
func (s *soak) resendOne(v *server, _ *rand.Rand) {
	if key, x, ok := v.ledger.takeOpen(); ok {
		s.post(v, key, x)
	}
}

// resend sends all votes again that were not acknowledged, twice at most.
func (s *soak) resend(v *server) {
	for range 2 {
		v.ledger.mu.Lock()
		n := len(v.ledger.open)
		v.ledger.mu.Unlock()
		for range n {
			s.resendOne(v, nil)
		}
	}
}

func (s *soak) lookAtItem(v *server, random *rand.Rand) {
	i := s.items.voteOn(float64(time.Since(s.began))/float64(s.length), random)
	s.request(v, "GET", "/api/v1/item?"+url.Values{"id": {i.id}, "rater": {fmt.Sprint("r", random.IntN(raters))}}.Encode(), "", "", http.StatusOK)
}

func (s *soak) skip(v *server, random *rand.Rand) {
	body := fmt.Sprintf(`{"item":%q,"rater":"r%d"}`, s.items.pool[random.IntN(poolItems)].id, random.IntN(raters))
	s.request(v, "POST", "/api/v1/queue/skip", "application/json", body, http.StatusNoContent, http.StatusConflict) // 409: r has voted on it
}

// leave sends a request for many predictions, and does not wait for its end.
func (s *soak) leave(v *server, random *rand.Rand) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(random.IntN(20))*time.Millisecond)
	defer cancel()
	_, _, _ = s.do(ctx, v, "POST", "/invocations", "text/csv", table(s.items.pool[:1000]))
	s.counts.left.Add(1)
}

// nonsense sends a request that must be refused as the client's error.
func (s *soak) nonsense(v *server, random *rand.Rand) {
	body := []string{`{"items": [`, `{"items": [{"item": "a", "x1": "much", "x2": 1, "site": "A"}]}`, "\x00\xff"}[random.IntN(3)]
	s.request(v, "POST", "/api/v1/models/soak/predict", "application/json", body, http.StatusBadRequest, http.StatusUnprocessableEntity)
}

// asks returns a call of a GET route, with a random rater in its path.
func asks(path string) func(*soak, *server, *rand.Rand) {
	return func(s *soak, v *server, random *rand.Rand) {
		s.request(v, "GET", fmt.Sprintf(path, random.IntN(raters)), "", "", http.StatusOK)
	}
}

// reads returns a call of a route that predicts one item.
func reads(path, kind string, body func(item) string) func(*soak, *server, *rand.Rand) {
	return func(s *soak, v *server, random *rand.Rand) {
		s.request(v, "POST", path, kind, body(s.items.train[random.IntN(trainItems)]), http.StatusOK)
	}
}
