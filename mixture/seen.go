package mixture

// mapped returns the interval of p̄ for one of p. How often raters guess, and so how close p̄ comes to
// 0 and 1, is itself an estimate: an end at 0 or 1 is moved out by the resolution, no farther than
// there.
func (c *ReportedClass) mapped(i Interval) Interval {
	m := Interval{c.average.At(c.class, i.Lo), c.average.At(c.class, i.Hi)}
	if i.Lo == 0 {
		m.Lo = max(0, m.Lo-c.resolution)
	}
	if i.Hi == 1 {
		m.Hi = min(1, m.Hi+c.resolution)
	}
	return m
}

// seen returns the interval of what is told, which contains its mean, and whether that of p lies within the resolution.
func (c *ReportedClass) seen(of Interval) ReportedInterval {
	e := c.resolution
	i := ReportedInterval{of, e > 0 && (of.Hi <= e || of.Lo >= 1-e)}
	if c.average != nil {
		mean, _ := c.Moments()
		i.Interval = c.mapped(i.Interval)
		i.Lo, i.Hi = min(i.Lo, mean), max(i.Hi, mean)
	}
	return i
}

// Moments returns the mean and the variance of what is told.
func (c *ReportedClass) Moments() (mean, variance float64) {
	switch {
	case c.average != nil:
		return c.average.class(c.class, c.Law)
	case c.Law == nil:
		return c.tables.moments()
	}
	return c.Law.Moments()
}

// QuantileBoth returns the quantile of what is told, and one less it.
func (c *ReportedClass) QuantileBoth(q float64) (x, complement float64) {
	if c.mirrors != nil && c.mirrors.tables != nil {
		x, complement = c.mirrors.QuantileBoth(1 - q)
		return complement, x
	}
	x, complement = c.quantile(q, 1-q)
	if c.average != nil {
		x = c.average.At(c.class, x)
		complement = 1 - x
	}
	return x, complement
}

// CDF returns the probability that what is told is at most x.
func (c *ReportedClass) CDF(x float64) float64 {
	lower, _ := c.tails(x)
	return lower
}

// Survival returns the probability that what is told is more than x.
func (c *ReportedClass) Survival(x float64) float64 {
	_, upper := c.tails(x)
	return upper
}

func (c *ReportedClass) tails(x float64) (lower, upper float64) {
	if c.average != nil {
		if x < c.average.At(c.class, 0) {
			return 0, 1
		}
		x = c.average.Inverse(c.class, x)
	}
	return c.Law.tails(x)
}
