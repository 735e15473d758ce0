package train

import (
	"math"

	"credence/dataset"
	"credence/evaluate"
	"credence/internal/words"
)

// The kinds of warnings in the provenance of a model. None names a rater: they are shown on its page.
const (
	ClassWeighted evaluate.Kind = "class weights void the calibration of %s"
	SingleVotes   evaluate.Kind = "no item has more than one vote: the means can be used, the intervals mean nothing"
	FewPairs      evaluate.Kind = "too few held-out items have two votes: whether intervals are wide enough is not known"
	UnclearWidths evaluate.Kind = "how wide intervals should be can hardly be told from these votes " +
		"(the squared error is %.2f ± %.2f times the predicted variance): more items or more votes per item would tell"
	DoubtfulRaters evaluate.Kind = "raters are modelled as asked, although %s"
	RatersLeft     evaluate.Kind = "%v" // *evaluate.LeftRaters
	DataGone       evaluate.Kind = "the data of the model that training started from are not at hand: networks may have seen what they hold out, so held-out scores and the calibration of intervals may flatter"
	FewHeldOut     evaluate.Kind = "too few items are left that networks of the model to start from have held out: they may have seen what they hold out now, so held-out scores and the calibration of intervals may flatter"
	NotCompared    evaluate.Kind = "the losses before and now are not compared: %v"
	Clamped        evaluate.Kind = "%.0f%% of the parameters log α reached the limit ±%s: the votes may be unanimous where the features differ"
	Diverged       evaluate.Kind = "training diverged %d times and went on with a smaller learning rate"
	StillImproving evaluate.Kind = "%d of %d networks were still improving after %d epochs: more epochs may help"
	NoHelp         evaluate.Kind = "the features do not help: on held-out items one %s for all is as good"
	StoppedEarly   evaluate.Kind = "training was stopped before its end"
)

// The kinds of reasons why raters are modelled, or not.
const (
	RatersAsked    evaluate.Kind = "they were asked for"
	RatersHelp     evaluate.Kind = "networks that know raters predict held-out votes better (%+.4f ± %.4f nats per vote)"
	RatersNoHelp   evaluate.Kind = "networks that know raters predict held-out votes no better (%+.4f ± %.4f nats per vote)"
	RatersNoSign   evaluate.Kind = "leans and guesses of raters, fitted to held-out votes of the networks, predict others no better (%+.4f ± %.4f nats per vote)"
	RatersUntried  evaluate.Kind = "training was stopped before networks with raters were fitted"
	RatersIgnored  evaluate.Kind = "method %s takes all votes alike"
	NoNames        evaluate.Kind = "votes carry no raters' names"
	OneRater       evaluate.Kind = "there is one rater only"
	FractionalVote evaluate.Kind = "item %q has %v votes for class %q, %v of them by raters with a name: only whole votes can be told apart"
	ManyVotes      evaluate.Kind = "item %q has %v votes, more than the %d that can be told apart"
	UnnamedVotes   evaluate.Kind = "%s of %s carry no rater's name"
	FewVotes       evaluate.Kind = "raters voted %.1f times on average, fewer than %d"
	ApartGroups    evaluate.Kind = "raters fall into %s groups that share no item, " +
		"and less than half of the votes are by groups of two raters or more with %d votes each on average"
)

// message returns the message of a kind with the values in its sentence.
func message(kind evaluate.Kind, args ...any) evaluate.Message {
	return evaluate.Message{Kind: kind, Args: args}
}

// warn adds a warning.
func (f *fitting) warn(kind evaluate.Kind, args ...any) {
	f.warnings = append(f.warnings, message(kind, args...))
}

// ratable returns why a likelihood with raters cannot be fitted to the data, or no message.
func ratable(ds *dataset.Dataset) evaluate.Message {
	switch {
	case len(ds.Raters) == 0 || len(ds.Ratings) == 0:
		return message(NoNames)
	case len(ds.Raters) == 1:
		return message(OneRater)
	}
	d := len(ds.Classes)
	named := make([]float32, len(ds.Counts))
	each := make([]int, ds.Len())
	for _, r := range ds.Ratings {
		named[int(r.Item)*d+int(r.Class)]++
		each[r.Item]++
	}
	for k, n := range named {
		if n > ds.Counts[k] || ds.Counts[k] != float32(math.Round(float64(ds.Counts[k]))) {
			return message(FractionalVote, ds.Items[k/d], ds.Counts[k], ds.Classes[k%d], n)
		}
	}
	for j := range each {
		if m := ds.VotesOf(j); m > mostRatings {
			return message(ManyVotes, ds.Items[j], m, mostRatings)
		}
	}
	return evaluate.Message{}
}

// doubtful returns why raters are not tried without being asked for, or no message. It names nobody: the
// reason goes into the model and onto its page.
func doubtful(g *evaluate.RaterGraph) evaluate.Message {
	switch {
	case g.Unnamed > 0:
		return message(UnnamedVotes, words.Thousands(g.Unnamed), words.Plural(g.Votes+g.Unnamed, "vote"))
	case g.Raters < 2:
		return message(OneRater)
	case g.Modelled > 0:
		return evaluate.Message{}
	case g.MeanVotes < evaluate.EnoughVotes:
		return message(FewVotes, float64(g.MeanVotes), evaluate.EnoughVotes)
	}
	return message(ApartGroups, words.Thousands(g.Components), evaluate.EnoughVotes)
}
