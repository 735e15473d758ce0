// Package dataset reads items, their features and the votes cast on them, and
// converts features into network inputs.
//
// A [Dataset] holds N items with the counts of their votes over d classes and
// one row of raw feature values per item. Features are named blocks ([Feature]):
// numeric columns, categorical columns, text, and tensors such as embeddings,
// images and volumes. Raw values are read one row at a time through [Rows],
// which hides whether they are in memory, in an NPY file or in a cache on disk;
// NaN marks a missing value.
//
// [Load] reads a data set from files: features from CSV, TSV, XLSX, JSON,
// Parquet, NPY, NPZ, IDX, or a folder of images or of Parquet files, votes from
// CSV, TSV, XLSX, JSON, Parquet or NPY in any of four forms ([Form]). JSON collections (LeWiDi data sets,
// Label Studio exports) contain both items and votes. [Dataset.Votes] and [Dataset.Columns]
// describe how the files were interpreted, to be shown before training;
// [Dataset.Warnings] lists what was left out or looks wrong. Errors are
// [ParseError]s with the position in the file; if an option would resolve one,
// its cause is an [Advice].
//
// A [Transform] is fitted on the training items only and returns the flat
// network input of any item. [NewSplit] and [Folds] divide the items.
// [OpenStream] reads items for prediction, in memory bounded by the batch size; [StreamOf] and
// [VotesOf] read items and votes from a [Source] instead of a file.
//
// Dimension letters of the package: N items, d classes, W raw values per row.
package dataset
