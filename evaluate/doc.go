// Package evaluate measures predictions, each a [mixture.Dirichlet] of an
// item's class probabilities, against the votes on items held out.
//
//   - [Evaluate] computes all metrics of a set of predictions and returns a
//     [Result], in which every number has a standard error.
//   - [References], fitted to the training votes by package train, are the baseline
//     predictions that a model has to beat; a [Difference] shows whether it does.
//   - [Curve] repeats the evaluation with fewer votes and items, to show how many
//     are needed.
//   - [Allocate] distributes a budget of further votes over items so that the
//     variance of the class probabilities falls most.
//   - [Check] examines votes alone, before any training: agreement between raters,
//     raters who differ, and whether the votes can support intervals at all.
//
// [NewInput] reads votes, groups and, in simulations, true probabilities from a
// data set; predictions come from Model.Predict of package model. Evaluate on
// items that the model was not trained on.
//
// The true probabilities of an item are never observed, except in simulations, and
// votes determine them only in part: m votes per item identify the moments of
// their distribution up to order m. The joint likelihood of an item's votes
// (Result.NLL) is the score that depends on the spread of a prediction as well as
// on its mean.
//
// # Caveats
//
// Standard errors are bootstrap errors over items (or groups of items), with the
// fitted model held fixed; those of dispersion ratios are exact under the predicted
// distributions (see [Dispersion]). Values that cannot be computed are NaN (null in
// JSON), and [Result.Warnings] explains why. Votes on an item are assumed to be
// exchangeable; if some raters differ systematically, intervals come out too narrow.
//
// Results are deterministic: the same input and seed give the same result on any
// number of cores.
package evaluate
