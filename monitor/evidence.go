package monitor

import "slices"

// process is the evidence about one stream: of all votes, a group, a rater, or inputs. For each bet j,
//
//	A_t = L_t (A_{t−1} + γ_t),   E_t = mean_j A_t + 1 − Σ_{s≤t} γ_s,
//
// with L_t the likelihood ratio of the bet and γ the stake that enters at the start of a block: 1/((b+1)(b+2)) for block
// b, from 0. As γ_t is known before the vote, E is a martingale with E_0 = 1 (a supermartingale where deviations are
// tolerated), and the probability that it ever reaches x is at most 1/x. Stakes that enter later keep it sensitive to
// a change after a long quiet time.
type process struct {
	strict, tolerant []float64 // A by bet, without and with tolerance
	staked           float64   // Σ γ
	votes, units     int       // votes, and what blocks count: distinct items, or votes
}

func newProcess(bets int) *process {
	return &process{strict: make([]float64, bets), tolerant: make([]float64, bets)}
}

// mostEvidence bounds A, so that evidence stays finite. A smaller A keeps E a supermartingale.
const mostEvidence = 1e250

// add adds a vote with its likelihood ratios by bet; fresh reports whether it begins a new unit, and block is
// the number of units per block.
func (p *process) add(strict, tolerant []float64, fresh bool, block int) {
	stake := 0.0
	if fresh {
		if p.units%block == 0 {
			b := float64(p.units / block)
			stake = 1 / ((b + 1) * (b + 2))
		}
		p.units++
	}
	p.votes++
	p.staked += stake
	for j := range p.strict {
		p.strict[j] = min(strict[j]*(p.strict[j]+stake), mostEvidence)
		p.tolerant[j] = min(tolerant[j]*(p.tolerant[j]+stake), mostEvidence)
	}
}

// Evidence is the evidence against a model, as odds: strict without and tolerant with the tolerated bias.
type Evidence struct {
	Strict   float64 `json:"strict"`
	Tolerant float64 `json:"tolerant"`
}

func (p *process) evidence() Evidence {
	return Evidence{mean(p.strict) + 1 - p.staked, mean(p.tolerant) + 1 - p.staked}
}

// leading returns the bet with the largest evidence.
func (p *process) leading() int {
	best := 0
	for j, a := range p.tolerant {
		if a > p.tolerant[best] || a == p.tolerant[best] && p.strict[j] > p.strict[best] {
			best = j
		}
	}
	return best
}

func mean(list []float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += x
	}
	return sum / float64(len(list))
}

// family is the evidence about several streams together, such as groups of items or raters: their mean by weights
// that are fixed before their votes. Members that are known at the start share all but a reserve; the k-th newcomer
// gets 1/(k(k+1)) of the reserve. What is not assigned counts as 1, so that the total weight is one.
type family struct {
	bets    int
	known   int
	names   []string
	at      map[string]int
	members []*process
}

// reserve is the share of newcomers where some members are known at the start.
const reserve = 0.2

func newFamily(bets int, known []string) *family {
	f := &family{bets: bets, at: map[string]int{}}
	for _, name := range known {
		if _, twice := f.at[name]; !twice {
			f.member(name)
		}
	}
	f.known = len(f.names)
	return f
}

// member returns the index of a member, which is added if it is new.
func (f *family) member(name string) int {
	i, ok := f.at[name]
	if !ok {
		i = len(f.names)
		f.at[name] = i
		f.names = append(f.names, name)
		f.members = append(f.members, newProcess(f.bets))
	}
	return i
}

// weight returns the weight of member i.
func (f *family) weight(i int) float64 {
	share := 1.0
	if f.known > 0 {
		if share = reserve; i < f.known {
			return (1 - reserve) / float64(f.known)
		}
	}
	k := float64(i - f.known + 1)
	return share / (k * (k + 1))
}

// evidence returns the evidence of all members together.
func (f *family) evidence() Evidence {
	sum := Evidence{1, 1}
	for i, p := range f.members {
		if p.votes == 0 {
			continue // counts as 1
		}
		w, e := f.weight(i), p.evidence()
		sum.Strict += w * (e.Strict - 1)
		sum.Tolerant += w * (e.Tolerant - 1)
	}
	return sum
}

// leading returns the member with the largest weighted evidence, −1 if there is none with votes.
func (f *family) leading() int {
	best, most := -1, Evidence{}
	for i, p := range f.members {
		if p.votes == 0 {
			continue
		}
		e := p.evidence()
		e = Evidence{e.Strict * f.weight(i), e.Tolerant * f.weight(i)}
		if best < 0 || e.Tolerant > most.Tolerant || e.Tolerant == most.Tolerant && e.Strict > most.Strict {
			best, most = i, e
		}
	}
	return best
}

// clone returns an empty family with the members known at the start.
func (f *family) clone() *family { return newFamily(f.bets, slices.Clone(f.names[:f.known])) }
