package dataset

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"credence/internal/budget"
	"credence/internal/nifti"
)

// hugePNG is a gray image of w×1 pixels, all 0.
func hugePNG(t *testing.T, w int) []byte {
	t.Helper()
	var data bytes.Buffer
	z, _ := zlib.NewWriterLevel(&data, zlib.BestSpeed)
	block := make([]byte, 1<<20)
	for left := w + 1; left > 0; left -= len(block) {
		z.Write(block[:min(left, len(block))])
	}
	z.Close()
	out := []byte("\x89PNG\r\n\x1a\n")
	chunk := func(name string, body []byte) {
		out = binary.BigEndian.AppendUint32(out, uint32(len(body)))
		from := len(out)
		out = append(append(out, name...), body...)
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[from:]))
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(w))
	chunk("IHDR", append(binary.BigEndian.AppendUint32(head, 1), 8, 0, 0, 0, 0))
	chunk("IDAT", data.Bytes())
	chunk("IEND", nil)
	return out
}

// An image that is small on disk and too large in memory is an error before it is decoded;
// one that fits is read.
func TestImageMemory(t *testing.T) {
	var row [4]float32
	pool := budget.NewShared(budget.Least)
	err := decodeImageFrom("x.png", bytes.NewReader(hugePNG(t, 1<<22)), []int{1, 2, 2}, pool, row[:])
	if want := "reading x.png: an image of 4194304×1 pixels would take"; !errors.Is(err, budget.ErrMemory) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := decodeImageFrom("x.png", bytes.NewReader(hugePNG(t, 1<<18)), []int{1, 2, 2}, pool, row[:]); err != nil {
		t.Error(err)
	}
}

// writeVolume writes one whose voxels are those that f gives.
func writeVolume(t *testing.T, path string, dim [3]int, f func(i int) float32) {
	t.Helper()
	v := &nifti.Volume{Dim: dim, Spacing: [3]float64{1, 1, 1}, Data: make([]float32, dim[0]*dim[1]*dim[2])}
	for i := range v.Data {
		v.Data[i] = f(i)
	}
	if err := nifti.WriteFile(path, v, nifti.WriteOptions{Level: 1}); err != nil {
		t.Fatal(err)
	}
}

// A volume without content, or one that needs more memory than allowed, is an error in training
// and in prediction.
func TestVolumesThatShowNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	small := [3]int{4, 4, 4}
	for _, c := range []struct {
		name string
		dim  [3]int
		f    func(i int) float32
		want string // "" for none
	}{
		{"nan", small, func(int) float32 { return nan }, "none of its 64 voxels is a finite number"},
		{"infinite", small, func(int) float32 { return inf }, "none of its 64 voxels is a finite number"},
		{"both", small, func(i int) float32 { return []float32{nan, inf, -inf}[i%3] }, "none of its 64 voxels is a finite number"},
		{"blank", small, func(int) float32 { return 0 }, "the volume is blank: all of its voxels are 0"},
		{"flat", small, func(int) float32 { return 7 }, "the volume is blank: all of its voxels are 7"},
		{"masked", small, func(i int) float32 { return []float32{nan, 1, 2}[i%3] }, ""},
		{"large", [3]int{220, 220, 220}, func(i int) float32 { return float32(i % 3) }, "a volume of 220×220×220 voxels would take"},
		{"flat and wide", [3]int{1000, 1000, 1}, func(i int) float32 { return float32(i % 3) }, "a volume of 1000×1000×1 voxels would take"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := strings.ReplaceAll(c.name, " ", "-") + ".nii.gz"
			writeVolume(t, path, c.dim, c.f)
			opts := FeatureOptions{Memory: 1, CacheDir: "cache", Volume: VolumeOptions{Size: [3]int{8, 8, 40}}}
			f, err := readFeatures(t.Context(), path, opts)
			check := func(err error) {
				t.Helper()
				if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
			}
			check(err)
			if err == nil {
				f.Close()
			}
			part, err := volumeFeature(&FeatureOptions{ImageColumn: volumesFeature, Volume: opts.Volume})
			if err != nil {
				t.Fatal(err)
			}
			s, err := OpenStream(t.Context(), path, []Feature{part}, StreamOptions{FeatureOptions: FeatureOptions{Memory: 1}})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			_, err = s.Next()
			check(err)
		})
	}
}

// A stream ends when its context does, also within a batch.
func TestStreamStop(t *testing.T) {
	cohort(t, 6)
	part, err := volumeFeature(&FeatureOptions{ImageColumn: volumesFeature, Volume: VolumeOptions{Size: [3]int{4, 4, 4}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int32{4, 9, 12} {
		ctx := &countdown{Context: context.Background(), at: at}
		s, err := OpenStream(ctx, "scans", []Feature{part}, StreamOptions{KeepBad: true})
		if err == nil {
			_, err = s.Next()
			s.Close()
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("stopped at question %d: %v", at, err)
		}
	}
}

// Warnings report numbers that float32 cannot represent, in arrays and in tables.
func TestLostDigits(t *testing.T) {
	t.Chdir(t.TempDir())
	npy := func(descr string, values ...uint64) {
		t.Helper()
		head := "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + []string{"1", "2", "3"}[len(values)-1] + ", 1), }\n"
		b := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), 0)
		b = append(b, head...)
		for _, v := range values {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
		if err := os.WriteFile("x.npy", b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	read := func(path string) []string {
		t.Helper()
		f, err := readFeatures(t.Context(), path, FeatureOptions{})
		if err != nil {
			return []string{err.Error()}
		}
		defer f.Close()
		var list []string
		for _, w := range f.Warnings {
			list = append(list, w.Error())
		}
		return list
	}
	bits, minus5 := math.Float64bits, ^uint64(4)
	for _, c := range []struct {
		descr  string
		values []uint64
		want   string
	}{
		{"<i8", []uint64{1, 1 << 60, minus5}, ""},
		{"<i8", []uint64{1, 1<<24 + 1}, "x.npy: 1 whole number rounded to seven digits, such as 16777217"},
		{"<i8", []uint64{math.MaxInt64, ^uint64(1 << 40)}, "x.npy: 2 whole numbers rounded to seven digits, such as 9223372036854775807"},
		{"<u8", []uint64{math.MaxUint64}, "x.npy: 1 whole number rounded to seven digits, such as 18446744073709551615"},
		{"<f8", []uint64{bits(0.1), bits(-1e-300), bits(math.NaN())}, "x.npy: 1 value closer to 0 than 1e-45 set to 0, such as -1e-300"},
		{"<f8", []uint64{bits(1e39)}, "reading x.npy: row 0: expected values within ±3.4e38, found 1e+39"},
	} {
		npy(c.descr, c.values...)
		if got := strings.Join(read("x.npy"), "\n"); got != c.want {
			t.Errorf("%s %v: got %q, want %q", c.descr, c.values, got, c.want)
		}
	}
	npy("<i8", 1, 1<<24+1)
	s, err := OpenStream(t.Context(), "x.npy", []Feature{{Name: "x", Kind: Tensor, Shape: []int{1}}}, StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Next(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(); err != io.EOF || len(s.Warnings()) != 1 {
		t.Errorf("%v, warnings %v, want one", err, s.Warnings())
	}
	if err := os.WriteFile("x.csv", []byte("a,b\n1e-300,1\n2,-1e-50\n0,3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(read("x.csv"), "\n"), `column "a": 1 value closer to 0 than 1e-45, such as 1e-300, treated as 0`+"\n"+
		`column "b": 1 value closer to 0 than 1e-45, such as -1e-50, treated as 0`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
