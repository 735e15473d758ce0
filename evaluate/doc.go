// Package evaluate measures predictions, each a [mixture.Dirichlet] of an
// item's class probabilities, against the votes on items held out.
//
//   - [Evaluate] computes everything there is to say about a set of predictions
//     and returns a [Result], every number with a standard error.
//   - [References], fitted to the training votes by package train, are the simple
//     predictions that a model has to beat; a [Difference] tells whether it does.
//   - [Curve] judges them again by fewer votes and fewer items: how many it takes.
//   - [Allocate] spreads a budget of further votes over items, where they take most
//     off the variance of the class probabilities.
//   - [Check] looks at votes alone, before any training: agreement between raters,
//     raters who differ, and whether the votes can support intervals at all.
//
// [NewInput] takes votes, groups and, in simulations, true probabilities from a
// data set; predictions are those of Model.Predict of package model. Evaluate on
// items that the model was not trained on.
//
// The true probabilities of an item are never seen, except in simulations, and
// votes tell only so much about them: m votes per item identify the moments of
// their distribution up to order m. The joint likelihood of an item's votes
// (Result.NLL) is the score that notices the spread of a prediction as well as
// its mean.
//
// # Caveats
//
// Standard errors are bootstrap errors over items (or groups of items), with the
// fitted model held fixed; those of dispersion ratios are exact under the predicted
// laws (see [Dispersion]). What cannot be computed is NaN (null in JSON), and
// [Result.Warnings] says why. Votes on an item are taken to be exchangeable; if
// some raters differ systematically, intervals come out too narrow.
//
// Everything is deterministic: the same input and seed give the same result on
// any number of cores.
package evaluate
