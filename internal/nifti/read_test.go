package nifti

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"credence/internal/fault"
	"credence/internal/volume"
)

// decode reads a single file in memory.
func decode(b []byte) (*Volume, error) {
	s, err := newSource("x.nii", bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	h, err := s.header()
	if err != nil {
		return nil, err
	}
	return s.volume(h)
}

// handmade is a NIfTI-1 file assembled field by field.
type handmade struct {
	order   binary.ByteOrder
	dim     []int16
	typ     Type
	pixdim  []float32
	offset  float32
	slope   float32
	inter   float32
	qform   int16
	sform   int16
	quat    []float32 // b, c, d and the shift
	rows    []float32 // of the sform
	magic   string
	voxels  []byte
	skipped int // bytes between header and voxels, beyond four
}

func plain(voxels []byte) handmade {
	return handmade{order: binary.LittleEndian, dim: []int16{3, 2, 1, 2}, typ: Uint8, pixdim: []float32{1, 1, 1, 1},
		offset: 352, slope: 1, sform: 1, rows: []float32{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}, magic: "n+1\x00", voxels: voxels}
}

func (m handmade) header() []byte {
	h := make([]byte, headerSize1)
	floats := func(at int, list []float32) {
		for i, x := range list {
			m.order.PutUint32(h[at+4*i:], math.Float32bits(x))
		}
	}
	m.order.PutUint32(h, headerSize1)
	for i, d := range m.dim {
		m.order.PutUint16(h[40+2*i:], uint16(d))
	}
	m.order.PutUint16(h[70:], uint16(m.typ))
	m.order.PutUint16(h[72:], uint16(8*m.typ.size()))
	floats(76, m.pixdim)
	floats(108, []float32{m.offset, m.slope, m.inter})
	m.order.PutUint16(h[252:], uint16(m.qform))
	m.order.PutUint16(h[254:], uint16(m.sform))
	floats(256, m.quat)
	floats(280, m.rows)
	copy(h[344:], m.magic)
	return h
}

func (m handmade) bytes() []byte {
	return slices.Concat(m.header(), make([]byte, 4+m.skipped), m.voxels)
}

// The values −2, 100, 3, 7 (or 2 for unsigned types) in every type and order,
// and scaled by ½ with 10 added.
func TestTypes(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, typ := range []Type{Uint8, Int8, Int16, Uint16, Int32, Uint32, Int64, Uint64, Float32, Float64} {
			want := []float32{-2, 100, 3, 7}
			if strings.HasPrefix(typ.String(), "u") {
				want[0] = 2
			}
			var b []byte
			for _, x := range want {
				buf := make([]byte, 8)
				switch k := int64(x); typ {
				case Float32:
					order.PutUint32(buf, math.Float32bits(x))
				case Float64:
					order.PutUint64(buf, math.Float64bits(float64(x)))
				default:
					switch typ.size() {
					case 1:
						buf[0] = byte(k)
					case 2:
						order.PutUint16(buf, uint16(k))
					case 4:
						order.PutUint32(buf, uint32(k))
					case 8:
						order.PutUint64(buf, uint64(k))
					}
				}
				b = append(b, buf[:typ.size()]...)
			}
			m := plain(b)
			m.order, m.typ = order, typ
			v, err := decode(m.bytes())
			if err != nil || !slices.Equal(v.Data, want) {
				t.Errorf("%v, %v: %+v, %v, want %v", typ, order, v, err, want)
			}
			m.slope, m.inter = 0.5, 10
			v, err = decode(m.bytes())
			for i := range want {
				if err != nil || v.Data[i] != want[i]/2+10 {
					t.Errorf("%v, %v, scaled: %+v, %v", typ, order, v, err)
				}
			}
		}
	}
}

// A slope of 0 or NaN means none.
func TestNoScaling(t *testing.T) {
	for _, slope := range []float32{0, float32(math.NaN()), float32(math.Inf(1))} {
		m := plain([]byte{1, 2, 3, 4})
		m.slope, m.inter = slope, 100
		if v, err := decode(m.bytes()); err != nil || v.Data[3] != 4 {
			t.Errorf("slope %v: %v, %v", slope, v, err)
		}
	}
}

func TestOrientation(t *testing.T) {
	// Voxels 1 2 / 3 4 with two along the first axis and two along the third.
	for name, c := range map[string]struct {
		change func(*handmade)
		dim    [3]int
		data   []float32
	}{
		"sform as it is":          {func(m *handmade) {}, [3]int{2, 1, 2}, []float32{1, 2, 3, 4}},
		"sform from right":        {func(m *handmade) { m.rows[0] = -1 }, [3]int{2, 1, 2}, []float32{2, 1, 4, 3}},
		"sform from head":         {func(m *handmade) { m.rows[10] = -1 }, [3]int{2, 1, 2}, []float32{3, 4, 1, 2}},
		"sform, x and z swapped":  {func(m *handmade) { m.rows = []float32{0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0} }, [3]int{2, 1, 2}, []float32{1, 3, 2, 4}},
		"sform, first axis is y":  {func(m *handmade) { m.rows = []float32{0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0} }, [3]int{1, 2, 2}, []float32{1, 2, 3, 4}},
		"sform before qform":      {func(m *handmade) { m.qform, m.quat = 1, []float32{0, 0, 1, 0, 0, 0} }, [3]int{2, 1, 2}, []float32{1, 2, 3, 4}},
		"qform":                   {func(m *handmade) { m.sform, m.qform, m.quat = 0, 1, make([]float32, 6) }, [3]int{2, 1, 2}, []float32{1, 2, 3, 4}},
		"qform, 180° about z":     {func(m *handmade) { m.sform, m.qform, m.quat = 0, 1, []float32{0, 0, 1, 0, 0, 0} }, [3]int{2, 1, 2}, []float32{2, 1, 4, 3}},
		"qform, face −1":          {func(m *handmade) { m.sform, m.qform, m.quat, m.pixdim[0] = 0, 1, make([]float32, 6), -1 }, [3]int{2, 1, 2}, []float32{3, 4, 1, 2}},
		"nothing: Analyze's x":    {func(m *handmade) { m.sform = 0 }, [3]int{2, 1, 2}, []float32{2, 1, 4, 3}},
		"two axes":                {func(m *handmade) { m.dim = []int16{2, 2, 2, 9} }, [3]int{2, 2, 1}, []float32{1, 2, 3, 4}},
		"the first of two":        {func(m *handmade) { m.dim = []int16{4, 2, 1, 1, 2} }, [3]int{2, 1, 1}, []float32{1, 2}},
		"axes of one":             {func(m *handmade) { m.dim = []int16{7, 2, 1, 2, 1, 1, 1, 1} }, [3]int{2, 1, 2}, []float32{1, 2, 3, 4}},
		"an extension":            {func(m *handmade) { m.offset, m.skipped = 384, 32 }, [3]int{2, 1, 2}, []float32{1, 2, 3, 4}},
		"no offset":               {func(m *handmade) { m.offset = 0 }, [3]int{2, 1, 2}, []float32{1, 2, 3, 4}},
		"something at the end":    {func(m *handmade) { m.voxels = append(m.voxels, 9, 9) }, [3]int{2, 1, 2}, []float32{1, 2, 3, 4}},
		"quaternion beyond one":   {func(m *handmade) { m.sform, m.qform, m.quat = 0, 1, []float32{0, 0, 1.0000001, 0, 0, 0} }, [3]int{2, 1, 2}, []float32{2, 1, 4, 3}},
		"voxel sizes of nothing":  {func(m *handmade) { m.sform, m.pixdim = 0, make([]float32, 8) }, [3]int{2, 1, 2}, []float32{2, 1, 4, 3}},
		"big-endian and oriented": {func(m *handmade) { m.order, m.rows[0] = binary.BigEndian, -1 }, [3]int{2, 1, 2}, []float32{2, 1, 4, 3}},
	} {
		m := plain([]byte{1, 2, 3, 4})
		c.change(&m)
		v, err := decode(m.bytes())
		if err != nil || v.Dim != c.dim || !slices.Equal(v.Data, c.data) {
			t.Errorf("%s: %+v, %v, want %v %v", name, v, err, c.dim, c.data)
		}
	}
}

func TestRefused(t *testing.T) {
	nan := float32(math.NaN())
	for want, change := range map[string]func(*handmade){
		"expected voxels that are integers of 8 to 64 bits, float32 or float64, found RGB24":            func(m *handmade) { m.typ = 128 },
		"expected voxels that are integers of 8 to 64 bits, float32 or float64, found RGBA32":           func(m *handmade) { m.typ = 2304 },
		"expected voxels that are integers of 8 to 64 bits, float32 or float64, found complex64":        func(m *handmade) { m.typ = 32 },
		"expected voxels that are integers of 8 to 64 bits, float32 or float64, found float128":         func(m *handmade) { m.typ = 1536 },
		"expected voxels that are integers of 8 to 64 bits, float32 or float64, found code 77":          func(m *handmade) { m.typ = 77 },
		"an Analyze 7.5 header does not define left and right: convert the volume to NIfTI":             func(m *handmade) { m.magic = "" },
		`unknown magic bytes "ni3\x00" in the header: the file is damaged`:                              func(m *handmade) { m.magic = "ni3\x00" },
		"expected 1 to 7 axes, found 0: the file is damaged":                                            func(m *handmade) { m.dim[0] = 0 },
		"expected 1 to 7 axes, found 9: the file is damaged":                                            func(m *handmade) { m.dim[0] = 9 },
		"according to its header axis 2 has -3 voxels: the file is damaged":                             func(m *handmade) { m.dim[2] = -3 },
		"expected at most 536870912 voxels, found [32767 32767 32767]":                                  func(m *handmade) { m.dim = []int16{3, 32767, 32767, 32767} },
		"expected one value per voxel, found 3 values along axis 5":                                     func(m *handmade) { m.dim = []int16{5, 2, 1, 2, 1, 3} },
		"according to its header voxels begin at byte NaN: the file is damaged":                         func(m *handmade) { m.offset = nan },
		"according to its header voxels begin at byte -1: the file is damaged":                          func(m *handmade) { m.offset = -1 },
		"according to its header voxels begin at byte 100, within the header: the file is damaged":      func(m *handmade) { m.offset = 100 },
		"the file is truncated: expected 356 bytes for 2×1×2 voxels of uint8 after byte 352, found 355": func(m *handmade) { m.voxels = m.voxels[:3] },
		"the file is truncated: expected 4096000352 bytes for 800×800×800 voxels of float64 after byte 352, found 356": func(m *handmade) {
			m.dim, m.typ = []int16{3, 800, 800, 800}, Float64
		},
		"the orientation matrix is singular":                              func(m *handmade) { m.rows = make([]float32, 12) },
		"the orientation matrix has the element NaN: the file is damaged": func(m *handmade) { m.rows[5] = nan },
	} {
		m := plain([]byte{1, 2, 3, 4})
		change(&m)
		_, err := decode(m.bytes())
		if err == nil || err.Error() != "reading x.nii: "+want || !errors.Is(err, fault.ErrFormat) {
			t.Errorf("got  %v\nwant reading x.nii: %s", err, want)
		}
	}
	for _, b := range []string{"", "ab", "not a NIfTI file at all"} {
		if _, err := decode([]byte(b)); !errors.Is(err, fault.ErrFormat) {
			t.Errorf("%q: %v", b, err)
		}
	}
}

// zipped compresses b.
func zipped(t *testing.T, b []byte) []byte {
	t.Helper()
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return z.Bytes()
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	m := plain([]byte{1, 2, 3, 4})
	single, packed := m.bytes(), zipped(t, m.bytes())
	m.magic, m.offset = "ni1\x00", 0
	put("pair.hdr", m.header())
	put("pair.img", m.voxels)
	put("packed.hdr", m.header())
	put("packed.img.gz", zipped(t, m.voxels))
	put("UPPER.HDR", m.header())
	put("UPPER.IMG", m.voxels)
	put("alone.hdr", m.header())
	put("odd.nii", m.header())
	put("a.nii", single)
	put("a.nii.gz", packed)
	put("misnamed.nii", packed)
	for _, name := range []string{"a.nii", "a.nii.gz", "misnamed.nii", "pair.hdr", "pair.img", "packed.hdr", "packed.img.gz", "UPPER.HDR", "UPPER.IMG"} {
		v, err := Read(t.Context(), filepath.Join(dir, name))
		if err != nil || !slices.Equal(v.Data, []float32{1, 2, 3, 4}) {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
		h, err := Format.Header(filepath.Join(dir, name))
		if err != nil || h.Dim != [3]int{2, 1, 2} || !h.Oriented {
			t.Errorf("%s: %+v, %v", name, h, err)
		}
	}
	cut := put("cut.nii.gz", packed[:len(packed)-9])
	bad := slices.Clone(packed)
	bad[len(bad)-6]++ // in the checksum
	put("sum.nii.gz", bad)
	t.Chdir(dir)
	for name, want := range map[string]string{
		"alone.hdr":  "reading alone.hdr: expected alone.img next to it: header and voxels are a pair of files",
		"odd.nii":    "reading odd.nii: according to its header the voxels are in an .img file, but its name is not that of a pair",
		"none.nii":   "reading none.nii: no such file or directory",
		"sum.nii.gz": "reading sum.nii.gz: its compressed data are damaged after 356 bytes: gzip: invalid checksum",
	} {
		if _, err := Read(t.Context(), name); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	if _, err := Read(t.Context(), cut); !errors.Is(err, fault.ErrFormat) {
		t.Errorf("a file cut short: %v", err)
	}
	if _, err := Read(t.Context(), "none.nii"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestIsVolume(t *testing.T) {
	for path, want := range map[string]bool{"a.nii": true, "b/a.NII.GZ": true, "a.hdr": true, "a.img.gz": true,
		"a.png": false, "nii": false, ".nii": false, "a.gz": false, "a.nii.zip": false} {
		if _, ext := volume.SplitName(path, Format.Extensions); (ext != "") != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}

// A header that announces much more than the file contains takes little memory,
// compressed or not.
func TestHostileSizes(t *testing.T) {
	m := plain(make([]byte, 1<<20))
	m.dim, m.typ = []int16{3, 800, 800, 800}, Float32
	for _, b := range [][]byte{m.bytes(), zipped(t, m.bytes())} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := decode(b)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Error("a file that is cut short is accepted")
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 100<<20 {
			t.Errorf("%d bytes were allocated for a file of %d", used, len(b))
		}
	}
}

func FuzzRead(f *testing.F) {
	m := plain([]byte{1, 2, 3, 4})
	f.Add(m.bytes())
	m.order, m.typ, m.voxels = binary.BigEndian, Float64, make([]byte, 32)
	f.Add(m.bytes())
	m.sform, m.qform, m.quat = 0, 1, []float32{0.5, 0.5, 0.5, 1, 2, 3}
	f.Add(m.bytes())
	var b bytes.Buffer
	v := &Volume{Dim: [3]int{2, 2, 2}, Spacing: [3]float64{1, 1, 1}, Data: make([]float32, 8)}
	if err := Write(&b, v, WriteOptions{Gzip: true}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := decode(b)
		if err != nil {
			return
		}
		if len(v.Data) != v.Dim[0]*v.Dim[1]*v.Dim[2] {
			t.Fatalf("%d values for %v", len(v.Data), v.Dim)
		}
		if len(v.Data) > 1<<16 {
			return
		}
		small, err := volume.Resample(v, [3]int{3, 2, 4}, volume.Proportions)
		if err != nil {
			t.Fatal(err)
		}
		if err := volume.Normalize(small.Data, volume.Normalization{}); err != nil {
			t.Fatal(err)
		}
		for _, x := range small.Data {
			if x != x {
				t.Fatal("a value is not a number")
			}
		}
	})
}

func FuzzHeader(f *testing.F) {
	m := plain(nil)
	f.Add(m.header())
	m.order = binary.BigEndian
	f.Add(m.header())
	two := make([]byte, headerSize2)
	binary.LittleEndian.PutUint32(two, headerSize2)
	copy(two[4:], "n+2\x00\r\n\x1a\n")
	two[12], two[16], two[24], two[32], two[40] = byte(Int16), 3, 2, 2, 2
	f.Add(two)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 4 {
			return
		}
		size, order, err := headerSize(b)
		if err != nil || len(b) < size {
			return
		}
		h, err := parseHeader(b[:size], order)
		if err != nil {
			return
		}
		d := h.Dim
		if d[0]*d[1]*d[2] < 1 || d[0]*d[1]*d[2] > volume.MaxVoxels || h.Type.size() == 0 || h.Offset < 0 || h.Slope == 0 {
			t.Fatalf("accepted: %+v", h)
		}
	})
}
