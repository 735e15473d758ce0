package serve

import (
	"fmt"
	"slices"
	"testing"
)

// Items that are predicted for a new model include the votes so far before they are in use: the queue is not locked for the time that
// takes. Later votes are added to them, each once.
func TestVotesBeforeItems(t *testing.T) {
	s, base, _ := desk(t, Options{})
	cast := func(item, rater, label string) {
		t.Helper()
		want[any](t, "POST", base+"/api/v1/votes", apiVote{Item: item, Rater: rater, Label: label})
	}
	cast("i20", "ann", "yes")
	cast("i21", "ann", "no")
	cast("i21", "bob", "no")
	m, err := s.registry.get("", "")
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.queue.rankItems(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range p.ids {
		voted := slices.Contains([]string{"i20", "i21"}, id) || p.ballots.earlier[i] != nil
		if changed := p.now[i] != p.prior[i]; p.now[i] != nil && changed != voted {
			t.Errorf("%s: numbers include votes: %v, expected %v", id, changed, voted)
		}
	}
	now := p.now[p.at["i21"]].gain
	cast("i21", "cyd", "no") // while p is not yet in use
	s.queue.mu.Lock()
	s.queue.items, s.queue.seen = p, 0
	s.queue.catchUp()
	s.queue.mu.Unlock()
	if p.now[p.at["i21"]].gain == now {
		t.Error("a vote that came meanwhile was not added")
	}
	cast("i21", "dan", "no")
	fresh, err := s.queue.rankItems(t.Context(), m) // all votes at once
	if err != nil {
		t.Fatal(err)
	}
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	if a, b := p.now[p.at["i21"]], fresh.now[fresh.at["i21"]]; fmt.Sprint(*a) != fmt.Sprint(*b) || !slices.Equal(p.order, fresh.order) {
		t.Errorf("votes one by one give %v, all at once %v", *a, *b)
	}
}
