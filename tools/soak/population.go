//go:build linux

package main

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
)

// Sizes of the population: items to train on, items to vote on, and raters.
const (
	trainItems = 300
	poolItems  = 6000
	raters     = 25
	// windowItems are voted on at a time. The window moves over the pool, since votes on items that were voted on before a model
	// was in use are no evidence about it.
	windowItems = 400
)

// population are items with known probabilities of the class yes.
type population struct {
	train, pool []item
	// drift is added to the logit of every vote, in hundredths: alarms are expected while it is not 0.
	drift  atomic.Int64
	random *rand.Rand
}

type item struct {
	id     string
	x1, x2 float64
	site   string
	logit  float64
}

func newPopulation(seed uint64) *population {
	p := &population{random: rand.New(rand.NewPCG(seed, 1))}
	draw := func(id string, n int) item {
		x1, x2 := p.random.NormFloat64(), p.random.NormFloat64()
		return item{id, x1, x2, "AB"[n%2 : n%2+1], 1.2*x1 + 0.5*x2 + 0.7*p.random.NormFloat64()}
	}
	for i := range trainItems {
		p.train = append(p.train, draw(fmt.Sprint("t", i), i))
	}
	for i := range poolItems {
		p.pool = append(p.pool, draw(fmt.Sprint("p", i), i))
	}
	return p
}

// voteOn draws an item of the window, done being the part of the time that is over.
func (p *population) voteOn(done float64, random *rand.Rand) item {
	first := int(min(max(done, 0), 1) * float64(len(p.pool)-windowItems))
	return p.pool[first+random.IntN(windowItems)]
}

// label draws a vote on an item.
func (p *population) label(i item, random *rand.Rand) string {
	if random.Float64() < 1/(1+math.Exp(-i.logit-float64(p.drift.Load())/100)) {
		return "yes"
	}
	return "no"
}

// write writes train.csv, votes.csv, pool.csv and probe.csv. Half of the pool is also in train.csv, so that models are trained on
// posted votes, and the other half remains for monitoring.
func (p *population) write(dir string) error {
	var known []item
	for i, x := range p.pool {
		if i%2 == 0 {
			known = append(known, x)
		}
	}
	votes := bytes.NewBufferString("item,rater,label\n")
	for _, x := range p.train {
		for _, r := range p.random.Perm(raters)[:2] {
			fmt.Fprintf(votes, "%s,r%d,%s\n", x.id, r, p.label(x, p.random))
		}
	}
	for name, text := range map[string][]byte{
		"train.csv": table(append(known, p.train...)), "pool.csv": table(p.pool), "probe.csv": table(p.train[:probes]), "votes.csv": votes.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func table(items []item) []byte {
	b := bytes.NewBufferString("item,x1,x2,site\n")
	for _, x := range items {
		fmt.Fprintf(b, "%s,%.6f,%.6f,%s\n", x.id, x.x1, x.x2, x.site)
	}
	return b.Bytes()
}
