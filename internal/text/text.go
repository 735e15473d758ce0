// Package text learns class probabilities from documents in any script: a
// [Vectorizer] turns a document into a sparse vector of weighted terms, and
// [Fit] finds the ridge logistic regression on such vectors that predicts votes
// best on documents it has not seen.
//
// Terms are words, pairs of neighboring words, and runs of two to four
// characters within words. Single characters count as words in scripts that
// write no spaces between them, and so do emoji. Terms have no list of their
// own: they are known by a hash, and terms with the same hash count as one.
//
// Everything depends on documents, votes and folds alone, never on the number
// of cores.
package text
