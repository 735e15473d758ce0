// Package run is the folder of a training run: what the command line writes and
// reads, for programs that do the same.
//
//   - [Train] trains on a data set and leaves the model, the metrics, the history
//     and a report in a [Folder]; a run that was stopped is resumed to the same
//     bytes.
//   - [TrainMember] trains one network of the ensemble, on a machine of its own
//     perhaps; [Train] with the parts of all ([ReadMembers]) makes the run of them, with the bytes
//     that one process would have written.
//   - [Load] reads the model of a folder, or a model file. [Folder.Part] finds the
//     items that training left alone, [Folder.Seen] those that it saw.
//   - [Input] puts together what a model says of a data set and all it is judged
//     by, for package evaluate; [Page] makes a page of it for package report.
//   - [Verify] repeats a run and compares the models byte by byte.
//
// A folder holds:
//
//	model.credence  the model
//	config.yaml     what the run was asked for, written by the caller
//	metrics.json    scores on held-out votes, beside those of simple references
//	history.csv     the losses of every epoch
//	report.html     the scores with figures and explanations
//	split.csv       the part of each item, if items were divided
//	checkpoint/     the state of a run that has not ended
//	member-0/ …     members that were trained by processes of their own
//	.lock           while a process writes into the folder: which one
//
// Every file appears whole or not at all, and one process at a time writes into a
// folder: others are refused with [ErrInUse]. But for the lock none holds a clock,
// a host or a number of cores, so that equal runs give equal bytes.
package run
