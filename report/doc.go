// Package report writes a report on a trained model and its predictions as one
// HTML page, for people who have to decide whether to rely on the model: doctors
// first, then statisticians.
//
// Fill in an [Input] and call [Write]. The page is a single self-contained file:
// it loads no fonts, scripts or images; figures are inline SVG from
// internal/plot. It follows the reader's preference for light or dark mode and can
// be printed. Sections without input are left out; numbers that could not be
// computed are shown as a dash.
//
// Equal input gives equal bytes. The page contains no time stamp.
package report
