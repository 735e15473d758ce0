package predict

import (
	"math"
	"strconv"

	"credence/mixture"
)

// Digits is the number of significant digits that numbers are written with; 0 means as many as needed to read
// back the same number.
type Digits int

// Precision returns the precision that intervals need if they are written with d digits.
func (d Digits) Precision() mixture.Precision {
	if d == 0 {
		return mixture.Full
	}
	return mixture.PrecisionOf(int(d))
}

// Append appends a number. A number other than 1 is never rounded to 1: the distance
// of a probability from 1 may be what matters.
func (d Digits) Append(dst []byte, x float64) []byte {
	if d == 0 {
		return strconv.AppendFloat(dst, x, 'g', -1, 64)
	}
	from := len(dst)
	dst = appendRounded(dst, x, int(d))
	for n := int(d) + 1; string(dst[from:]) == "1" && x != 1 && n <= 17; n++ {
		dst = strconv.AppendFloat(dst[:from], x, 'g', n, 64)
	}
	return dst
}

// Text returns a number as text.
func (d Digits) Text(x float64) string { return string(d.Append(nil, x)) }

// powersOfTen are exact.
var powersOfTen = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// appendRounded appends what strconv.AppendFloat(dst, x, 'g', digits, 64) does, in a third of the time for usual numbers: a product or quotient
// by an exact power of ten is off by half a unit in the last place at most, so that only a number that is all but halfway between two of
// the given number of digits could be rounded to the wrong one.
func appendRounded(dst []byte, x float64, digits int) []byte {
	size := math.Abs(x)
	const most = 15
	if !(size >= 1e-15 && size < 1e15) || digits < 1 || digits > most {
		return strconv.AppendFloat(dst, x, 'g', digits, 64)
	}
	// The exponent of ten or one more, with log₁₀ 2 = 0.30103.
	two := int(math.Float64bits(size)>>52) - 1023
	exponent := (two*30103+3100000)/100000 - 31 + 1
	power := digits - 1 - exponent
	if power+1 >= len(powersOfTen) {
		return strconv.AppendFloat(dst, x, 'g', digits, 64)
	}
	scaled := scaleByTen(size, power)
	if scaled < powersOfTen[digits-1] {
		exponent--
		scaled = scaleByTen(size, power+1)
	}
	n := uint64(scaled)
	rest := scaled - float64(n) - 0.5
	if math.Abs(rest) <= powersOfTen[digits]*0x1p-52 {
		return strconv.AppendFloat(dst, x, 'g', digits, 64)
	}
	if rest > 0 {
		n++
	}
	var text [most + 1]byte
	count := digits
	if n == uint64(powersOfTen[digits]) {
		n, exponent = n/10, exponent+1
	}
	for i := digits - 1; i >= 0; i-- {
		text[i] = byte('0' + n%10)
		n /= 10
	}
	for text[count-1] == '0' {
		count--
	}
	if x < 0 {
		dst = append(dst, '-')
	}
	switch {
	case exponent < -4 || exponent >= digits:
		dst = append(dst, text[0])
		if count > 1 {
			dst = append(append(dst, '.'), text[1:count]...)
		}
		dst = append(dst, 'e', '+')
		if exponent < 0 {
			dst[len(dst)-1] = '-'
			exponent = -exponent
		}
		return append(dst, byte('0'+exponent/10), byte('0'+exponent%10))
	case exponent < 0:
		dst = append(dst, "0.0000"[:1-exponent]...)
		return append(dst, text[:count]...)
	case count <= exponent+1:
		return append(append(dst, text[:count]...), "00000000000000"[:exponent+1-count]...)
	}
	dst = append(append(dst, text[:exponent+1]...), '.')
	return append(dst, text[exponent+1:count]...)
}

// scaleByTen returns x times a power of ten, from −22 to 22, rounded once.
func scaleByTen(x float64, power int) float64 {
	if power < 0 {
		return x / powersOfTen[-power]
	}
	return x * powersOfTen[power]
}
