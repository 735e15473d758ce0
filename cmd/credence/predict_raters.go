package main

import (
	"fmt"

	"credence/head"
	"credence/internal/words"
)

// matchRaters finds out who cast the votes to take into account, where the model knows raters
// apart: ratings are by item of the votes. Who is not one of the model's raters, or has no name,
// counts as an average one.
func (p *predictor) matchRaters() {
	p.ratings = make([][]int32, len(p.votes.Items))
	if p.model.Crowd == nil {
		return
	}
	known := make(map[string]int32, len(p.model.Raters))
	for i, name := range p.model.Raters {
		known[name] = int32(i)
	}
	of := make([]int32, len(p.votes.Raters))
	var strangers []string
	for i, name := range p.votes.Raters {
		at, ok := known[name]
		if !ok {
			at = -1
			strangers = append(strangers, name)
		}
		of[i] = at
	}
	p.classesOf = make([][]int32, len(p.votes.Items))
	for _, r := range p.votes.Ratings {
		p.ratings[r.Item] = append(p.ratings[r.Item], of[r.Rater])
		p.classesOf[r.Item] = append(p.classesOf[r.Item], int32(p.classes[r.Class]))
	}
	switch {
	case len(p.votes.Raters) == 0:
		p.warn("the votes name no raters: each counts as one of an average rater")
	case len(strangers) > 0:
		p.warn(fmt.Sprintf("%s of %s [%s] did not vote in training: they count as average raters",
			words.Thousands(len(strangers)), words.Plural(len(p.votes.Raters), "rater"), words.Few(strangers)))
	}
}

// updateByRaters takes the votes on item j into account by who cast them; at is their item, and
// votes are how many there are for each class, of which some may name nobody.
func (p *predictor) updateByRaters(a *answers, j, at int, votes []float64) (err error) {
	var list []head.Rating
	left := append([]float64(nil), votes...)
	for k, rater := range p.ratings[at] {
		class := p.classesOf[at][k]
		list = append(list, head.Rating{Rater: rater, Class: class})
		left[class]--
	}
	for class, n := range left {
		for ; n >= 1; n-- {
			list = append(list, head.Rating{Rater: -1, Class: int32(class)})
		}
		if n > 1e-6 {
			return fmt.Errorf("%v votes for class %q: raters cast whole votes", votes[class], p.model.Classes[class])
		}
	}
	a.list[j], err = a.list[j].AfterRatings(p.model.Crowd, list)
	return err
}
