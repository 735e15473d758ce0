package tree

// priorVotes is the number of votes with the shares of all items that are added to those of each level.
const priorVotes = 10

// categories returns, for each category, the bins of the shares of its levels, and sets the forest's Stats. The shares of
// an item that trees learn from leave out the votes of its fold: with its own, trees would trust levels of few items as
// if they were known.
func (b *Booster) categories() [][]binned {
	t, d := b.table, b.forest.Classes
	var list [][]binned
	at := 0
	for _, c := range t.columns {
		if c.Levels == 0 {
			continue
		}
		codes := t.codes[at]
		at++
		folds := 0
		for _, i := range b.items {
			folds = max(folds, b.sample.Folds[i]+1)
		}
		votes := newLevelVotes(c.Levels, d)
		apart := make([]*levelVotes, folds)
		for f := range apart {
			apart[f] = newLevelVotes(c.Levels, d)
		}
		for _, i := range b.items {
			weight := 1.0
			if b.sample.Weights != nil {
				weight = b.sample.Weights[i]
			}
			item := b.sample.Votes[int(i)*d : (int(i)+1)*d]
			votes.add(codes[i], item, weight)
			apart[b.sample.Folds[i]].add(codes[i], item, weight)
		}
		for _, a := range apart {
			a.complement(votes)
		}
		learned := make([]bool, t.n)
		for _, i := range b.items {
			learned[i] = true
		}
		cells := make([][]float32, shares(d))
		for s := range cells {
			cells[s] = make([]float32, t.n)
		}
		stats := make([]float32, shares(d))
		for i, code := range codes {
			from := votes
			if learned[i] {
				from = apart[b.sample.Folds[i]]
			}
			from.shares(stats, int(code))
			for s, v := range stats {
				cells[s][i] = v
			}
		}
		all := make([]float32, c.Levels*shares(d))
		for code := range c.Levels {
			votes.shares(all[code*shares(d):(code+1)*shares(d)], code)
		}
		b.forest.Stats = append(b.forest.Stats, all)
		var bins []binned
		for _, x := range cells {
			bins = append(bins, bin(x, t.most))
		}
		list = append(list, bins)
	}
	return list
}

// levelVotes are the votes on the items of each level of a category.
type levelVotes struct {
	d      int
	levels []float64 // [levels, d]
	all    []float64 // [d]
}

func newLevelVotes(levels, d int) *levelVotes {
	return &levelVotes{d: d, levels: make([]float64, levels*d), all: make([]float64, d)}
}

// add adds the votes of an item.
func (l *levelVotes) add(code int32, votes []float32, weight float64) {
	for i, v := range votes {
		l.levels[int(code)*l.d+i] += weight * float64(v)
		l.all[i] += weight * float64(v)
	}
}

// complement replaces the votes by those of others without them.
func (l *levelVotes) complement(others *levelVotes) {
	for k, v := range others.levels {
		l.levels[k] = v - l.levels[k]
	}
	for k, v := range others.all {
		l.all[k] = v - l.all[k]
	}
}

// shares sets dst to the shares of the classes of a level, shrunk to those of all items: of the second class alone if
// there are two.
func (l *levelVotes) shares(dst []float32, code int) {
	sum, here := 0.0, 0.0
	votes := l.levels[code*l.d : (code+1)*l.d]
	for i, v := range votes {
		here += v
		sum += l.all[i]
	}
	first := l.d - len(dst)
	for k := range dst {
		prior := 1 / float64(l.d)
		if sum > 0 {
			prior = l.all[first+k] / sum
		}
		dst[k] = float32((votes[first+k] + priorVotes*prior) / (here + priorVotes))
	}
}
