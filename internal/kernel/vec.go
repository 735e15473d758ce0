package kernel

// Add computes dst[i] = a[i] + b[i]. dst may be a or b.
func Add(dst, a, b []float32) {
	sameLen(len(dst), len(a), len(b))
	active.add(dst, a, b)
}

// Mul computes dst[i] = a[i] · b[i]. dst may be a or b.
func Mul(dst, a, b []float32) {
	sameLen(len(dst), len(a), len(b))
	active.mul(dst, a, b)
}

// Prefetch asks for x to be brought into the cache, without waiting for it: for rows
// that are read in no order. Of a long one only the beginning is asked for; the
// processor guesses the rest.
func Prefetch(x []float32) {
	if len(x) > 0 {
		active.prefetch(x[:min(len(x), 256)])
	}
}

// Fill sets every element of dst to v.
func Fill(dst []float32, v float32) {
	if v == 0 {
		clear(dst)
		return
	}
	for i := range dst {
		dst[i] = v
	}
}

func sameLen(a, b, c int) {
	if a != b || a != c {
		panic("kernel: slices differ in length")
	}
}

func addGeneric(dst, a, b []float32) {
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}

func mulGeneric(dst, a, b []float32) {
	for i := range dst {
		dst[i] = a[i] * b[i]
	}
}
