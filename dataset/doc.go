// Package dataset reads items, their features and the votes cast on them, and
// turns features into what a network takes.
//
// A [Dataset] holds N items with the counts of their votes over d classes and
// one row of raw feature values per item. Features come as named parts
// ([Part]): numeric columns, categorical columns, and tensors such as
// embeddings, images and volumes. Raw values are read one row at a time through
// [Rows], so that values in memory, in an NPY file and in a cache on disk look
// alike; NaN stands for a missing value.
//
// [Load] reads a data set from files: features from CSV, TSV, XLSX, JSON,
// Parquet, NPY, NPZ, IDX, or a folder of images or of Parquet files, votes from
// CSV, TSV, XLSX, JSON, Parquet or NPY in any of four forms ([Form]). Collections in JSON, sets of
// LeWiDi and Label Studio's exports, hold items with their votes. What was understood is in [Dataset.Votes] and
// [Dataset.Columns], to be shown before training; what was left out or looks
// wrong is in [Dataset.Warnings]. Errors are [ParseError]s, with the place in the
// file; where an option would settle one, its cause is an [Advice].
//
// A [Transform] is fitted on the training items alone and gives the flat
// network input of any item. [NewSplit] and [Folds] divide the items.
// [OpenStream] reads items for prediction in memory bounded by the batch; [StreamOf] and
// [VotesOf] read items and votes that lie in no file, from a [Source].
//
// Dimension letters of the package: N items, d classes, W raw values per row.
package dataset
