package table

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"credence/internal/budget"
	"credence/internal/python"
)

// codecCell returns the value that testdata/codecs.py writes to a column of row i, as text.
func codecCell(column string, i int) string {
	x := uint64(i) * 2654435761 % (1 << 32)
	switch column {
	case "item":
		return fmt.Sprintf("i%d", i)
	case "i32":
		if i%7 == 3 {
			return "null"
		}
		return strconv.FormatUint(x%(1<<31), 10)
	case "i64":
		return strconv.FormatUint(x*1048583, 10)
	case "u64":
		return strconv.FormatUint(x+1<<63, 10)
	case "f32":
		return fmt.Sprint(float64(x >> 8))
	case "f64":
		if i%9 == 4 {
			return "null"
		}
		return fmt.Sprint(float64(x) / 7)
	case "f16":
		return fmt.Sprint(float64(x % 2048))
	case "low":
		return strconv.FormatUint(x%4, 10)
	case "same":
		return "5"
	case "none":
		return "null"
	case "flag":
		return strconv.FormatBool(x%3 == 0)
	case "text":
		if i%5 == 1 {
			return "null"
		}
		return fmt.Sprintf("s%d", x)
	case "word":
		return fmt.Sprintf("w%d", x%10)
	case "list":
		if i%6 == 2 {
			return "null"
		}
		return fmt.Sprint([]float32{float32(x % 256), float32(i % 100)})
	case "cents":
		return fmt.Sprint(float64(x%100000) * math.Pow10(-2))
	}
	return "?"
}

// cellText returns a cell with all its digits.
func cellText(c *Cell) string {
	switch c.Kind {
	case TextCell:
		return c.Text
	case NumberCell:
		return fmt.Sprint(c.Num)
	case WholeCell:
		return strconv.FormatInt(c.Whole, 10)
	case VectorCell:
		return fmt.Sprint(c.Vec)
	}
	return "null"
}

// checkCodecFile compares every value of a file with the value that was written.
func checkCodecFile(t *testing.T, path string) {
	t.Helper()
	parts := strings.Split(strings.TrimSuffix(filepath.Base(path), ".parquet"), "-")
	want, err := strconv.Atoi(parts[len(parts)-1])
	if err != nil {
		t.Fatal(err)
	}
	table, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Error(err)
		return
	}
	defer table.Close()
	if n := len(table.Header()); n != 15 {
		t.Errorf("%s: %d columns", path, n)
	}
	n := 0
	err = Records(t.Context(), table, func(rec []Cell) error {
		for k, name := range table.Header() {
			if got, want := cellText(&rec[k]), codecCell(name, n); got != want {
				return fmt.Errorf("row %d, column %s: %s, want %s", n, name, got, want)
			}
		}
		n++
		return nil
	})
	if err != nil || n != want {
		t.Errorf("%s: %d rows: %v", path, n, err)
	}
}

// Files of every codec, encoding and page version contain the values that were
// written. Pages of LZ4 used to come back as zeros, and pages of version 2 that
// are not compressed used to be called damaged.
func TestParquetCodecs(t *testing.T) {
	paths, err := filepath.Glob("testdata/codec-*.parquet")
	if err != nil || len(paths) < 4 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		checkCodecFile(t, path)
	}
	t.Run("pyarrow", func(t *testing.T) {
		interpreter := python.Interpreter(t, "pyarrow.parquet")
		dir := t.TempDir()
		args, want := []string{"testdata/codecs.py", dir, "1", "2", "100", "3000"}, 4*36
		if !testing.Short() {
			args, want = append(args, "100000"), want+12
		}
		if out, err := exec.Command(interpreter, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		paths, err := filepath.Glob(dir + "/*.parquet")
		if err != nil || len(paths) != want {
			t.Fatalf("%d files, want %d (%v)", len(paths), want, err)
		}
		for _, path := range paths {
			checkCodecFile(t, path)
		}
	})
}

// TestParquetDamage flips a bit of every seventh byte of a file in turn. Its pages carry
// checksums: no data are read as other data, and nothing panics.
func TestParquetDamage(t *testing.T) {
	good, err := os.ReadFile("testdata/codec-lz4-plain-2-60.parquet")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	read := func(b []byte) (got []string, err error) {
		table, err := newParquet(t.Context(), "x", bytes.NewReader(b), int64(len(b)), budget.Default)
		if err != nil {
			return nil, err
		}
		defer table.Close()
		for {
			rec, err := table.Next()
			if err == io.EOF {
				return got, nil
			}
			if err != nil {
				return nil, err
			}
			for k := range rec {
				got = append(got, cellText(&rec[k]))
			}
		}
	}
	if want, err = read(good); err != nil || len(want) != 60*15 {
		t.Fatal(len(want), err)
	}
	pages := pageData(t, good)
	for at := 4; at < len(good)-8; at += 7 {
		b := bytes.Clone(good)
		b[at] ^= 0x40
		if _, err := read(b); err == nil && pages[at] {
			t.Errorf("byte %d, of a page, was changed and is read", at)
		}
	}
}

// pageData reports which bytes of a file are page data.
func pageData(t *testing.T, b []byte) map[int]bool {
	t.Helper()
	src := bytes.NewReader(b)
	p, _, err := newPlainParquet(t.Context(), "x", src, src.Size(), budget.Default)
	if err != nil {
		t.Fatal(err)
	}
	in := map[int]bool{}
	for _, c := range p.chunks {
		for _, page := range c.pages {
			for i := range page.packed {
				in[int(page.at+page.header+i)] = true
			}
		}
	}
	if len(in) < 1000 {
		t.Fatalf("%d bytes of pages", len(in))
	}
	return in
}

func TestUnpack(t *testing.T) {
	text := []byte(strings.Repeat("to be or not to be, ", 400) + "that is the question" + strings.Repeat("z", 1000))
	for _, codec := range []format.CompressionCodec{format.Uncompressed, format.Snappy, format.Gzip, format.Brotli, format.Zstd, format.Lz4Raw} {
		for _, n := range []int{0, 1, 5, 100, len(text)} {
			packed, err := parquet.LookupCompressionCodec(codec).Encode(nil, text[:n])
			if err != nil {
				t.Fatal(err)
			}
			if codec == format.Lz4Raw && n < 100 { // the encoder gives up: literals alone
				packed = append([]byte{byte(n) << 4}, text[:n]...)
			}
			got := make([]byte, n)
			if err := unpack(codec, got, packed); err != nil || !bytes.Equal(got, text[:n]) {
				t.Errorf("%v, %d bytes: %v", codec, n, err)
			}
			for _, wrong := range []int{n - 1, n + 1, 2*n + 40} {
				if wrong < 0 {
					continue
				}
				if err := unpack(codec, make([]byte, wrong), packed); err == nil {
					t.Errorf("%v: %d bytes fill %d", codec, n, wrong)
				}
			}
			if n == len(text) {
				if err := unpack(codec, got, packed[:len(packed)/2]); err == nil {
					t.Errorf("%v: half of the data will do", codec)
				}
			}
		}
	}
	for _, bad := range []string{"\xf0\xff\xff", "\x10", "\x10a\x01", "\x10a\x00\x00", "\x10a\x02\x00", "\x1fa\x01\x00\xff"} {
		if err := unpack(format.Lz4Raw, make([]byte, 100), []byte(bad)); err == nil || !strings.Contains(err.Error(), "its LZ4 data are damaged") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// plainLZ4 decodes an LZ4 block byte by byte, at most limit of them. It is for valid
// blocks: on others it may panic.
func plainLZ4(b []byte, limit int) (out []byte) {
	take := func() int { x := int(b[0]); b = b[1:]; return x }
	length := func(n int) int {
		for x := 255; n >= 15 && x == 255; n += x {
			x = take()
		}
		return n
	}
	for len(b) > 0 && len(out) <= limit {
		token := take()
		for range length(token >> 4) {
			out = append(out, byte(take()))
		}
		if len(b) == 0 {
			break
		}
		back := take() + 256*take()
		for range length(token&15) + 4 {
			out = append(out, out[len(out)-back])
		}
	}
	return out
}

func FuzzLZ4(f *testing.F) {
	f.Add([]byte("\x1fa\x01\x00\x08\x50abcde"), 33)
	f.Add([]byte("\x1f\x80"), 1)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		dst := make([]byte, max(0, n)%(1<<20))
		if unpack(format.Lz4Raw, dst, b) != nil {
			return
		}
		if want := plainLZ4(b, len(dst)); !bytes.Equal(want, dst) {
			t.Errorf("%q: got %q, want %q", b, dst, want)
		}
	})
}
