// Package report writes what is known about a trained model and its predictions
// as one HTML page: for people who have to decide whether to rely on it, doctors
// before statisticians.
//
// Fill an [Input] and call [Write]. The page is one file that refers to nothing
// outside itself: no fonts, scripts or images are loaded, figures are SVG by
// internal/plot. It follows the reader's preference for light or dark pages and
// prints. Whatever is missing from the input is left out of the page, with the
// exception of numbers that could not be computed, which are shown as a dash.
//
// Equal input gives equal bytes. There is no clock in the page.
package report
