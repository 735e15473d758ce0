package predict

import (
	"strconv"

	"credence/mixture"
)

// Digits is how many significant digits numbers are written with; 0 for as many as reading the same
// number back takes.
type Digits int

// Precision is that of intervals of which so many digits are written.
func (d Digits) Precision() mixture.Precision {
	if d == 0 {
		return mixture.Full
	}
	return mixture.PrecisionOf(int(d))
}

// Append writes a number. One that is not 1 is never rounded to it: how far a
// probability is from 1 may be all that matters.
func (d Digits) Append(dst []byte, x float64) []byte {
	if d == 0 {
		return strconv.AppendFloat(dst, x, 'g', -1, 64)
	}
	from := len(dst)
	dst = strconv.AppendFloat(dst, x, 'g', int(d), 64)
	for n := int(d) + 1; string(dst[from:]) == "1" && x != 1 && n <= 17; n++ {
		dst = strconv.AppendFloat(dst[:from], x, 'g', n, 64)
	}
	return dst
}

// Text is a number as text.
func (d Digits) Text(x float64) string { return string(d.Append(nil, x)) }
