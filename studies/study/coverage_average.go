package study

// average is the mean of several networks' numbers.
func average(list []network) network {
	var n network
	share := 1 / float64(len(list))
	for i, x := range list {
		n.Accuracy += x.Accuracy * share
		for k, c := range x.Classes {
			if i == 0 {
				n.Classes = append(n.Classes, classResult{Class: c.Class})
			}
			m := &n.Classes[k]
			m.Scale += c.Scale * share
			m.Resolution += c.Resolution * share
			m.Raw.add(c.Raw, share)
			m.Reported.add(c.Reported, share)
		}
	}
	for k := range n.Classes {
		n.Classes[k].Raw.finish(len(list))
		n.Classes[k].Reported.finish(len(list))
	}
	return n
}

// add adds a share of other numbers, and the sums over the images of strata.
func (r *coverageOf) add(x coverageOf, share float64) {
	r.Coverage = plus(r.Coverage, x.Coverage, share)
	r.Width = plus(r.Width, x.Width, share)
	r.AtLeast = plus(r.AtLeast, x.AtLeast, share)
	for _, s := range x.Strata {
		t := r.stratum(s.Name)
		t.Images += s.Images
		t.Coverage = plus(t.Coverage, s.Coverage, float64(s.Images))
		t.Width = plus(t.Width, s.Width, float64(s.Images))
	}
}

// stratum returns the one of the given name, an empty one if there is none yet.
func (r *coverageOf) stratum(name string) *stratum {
	for i := range r.Strata {
		if r.Strata[i].Name == name {
			return &r.Strata[i]
		}
	}
	r.Strata = append(r.Strata, stratum{Name: name})
	return &r.Strata[len(r.Strata)-1]
}

// finish turns the sums of strata into means over the images of n networks.
func (r *coverageOf) finish(n int) {
	for i := range r.Strata {
		s := &r.Strata[i]
		for l := range s.Coverage {
			s.Coverage[l] /= float64(s.Images)
			s.Width[l] /= float64(s.Images)
		}
		s.Images = (s.Images + n/2) / n
	}
}

// plus returns sum + share·x; sum may be nil.
func plus(sum, x []float64, share float64) []float64 {
	if sum == nil {
		sum = make([]float64, len(x))
	}
	for i, v := range x {
		sum[i] += v * share
	}
	return sum
}

// dropStrata keeps only the numbers that are shown for every network.
func (n *network) dropStrata() {
	for k := range n.Classes {
		n.Classes[k].Raw.Strata, n.Classes[k].Reported.Strata = nil, nil
	}
}
