package votelog

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// header is the first line of the file.
const header = "item,rater,label,time,key,check\n"

// read returns the votes of a file and how many of its bytes are whole lines; torn reports whether more
// follow, a line without an end. Errors name path and line.
func read(path string, file io.Reader) (votes []Vote, whole int64, torn bool, err error) {
	r := bufio.NewReaderSize(file, 1<<16)
	for line := 1; ; line++ {
		text, err := r.ReadSlice('\n')
		if err == io.EOF {
			return votes, whole, len(text) > 0, nil
		}
		if err == bufio.ErrBufferFull {
			return nil, 0, false, fmt.Errorf("%s: line %d: is longer than a vote can be", path, line)
		}
		if err != nil {
			return nil, 0, false, err
		}
		whole += int64(len(text))
		if line == 1 {
			if string(text) != header {
				return nil, 0, false, fmt.Errorf("%s: line 1: found %q, expected %q: this is no file of votes that credence serve began",
					path, bytes.TrimSpace(text), strings.TrimSpace(header))
			}
			continue
		}
		v, err := decode(text)
		if err != nil {
			return nil, 0, false, fmt.Errorf("%s: line %d: %w", path, line, err)
		}
		votes = append(votes, v)
	}
}

// check refuses what the file cannot hold.
func (v Vote) check() error {
	for _, f := range []struct {
		name, text string
		limit      int
		optional   bool
	}{{"item", v.Item, MaxField, false}, {"rater", v.Rater, MaxField, false}, {"label", v.Label, MaxField, true}, {"key", v.Key, MaxKey, true}} {
		switch {
		case f.text == "" && !f.optional:
			return fmt.Errorf("the vote has no %s", f.name)
		case len(f.text) > f.limit:
			return fmt.Errorf("the %s has %d bytes, more than %d", f.name, len(f.text), f.limit)
		case !utf8.ValidString(f.text) || strings.ContainsFunc(f.text, func(r rune) bool { return r < ' ' || r == 0x7f }):
			return fmt.Errorf("the %s %q has characters that no line of text can hold", f.name, f.text)
		case strings.TrimSpace(f.text) != f.text:
			return fmt.Errorf("the %s %q begins or ends with a space", f.name, f.text)
		}
	}
	return nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode appends a vote as a line.
func encode(dst []byte, v Vote) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write([]string{v.Item, v.Rater, v.Label, v.Time.Format(timeFormat), v.Key})
	w.Flush()
	line := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	dst = append(dst, line...)
	return fmt.Appendf(dst, ",%08x\n", crc32.Checksum(line, castagnoli))
}

const timeFormat = "2006-01-02T15:04:05.000Z"

// decode reads a line.
func decode(line []byte) (Vote, error) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	at := bytes.LastIndexByte(line, ',')
	if at < 0 {
		return Vote{}, fmt.Errorf("found %q, expected a vote", line)
	}
	sum := fmt.Sprintf("%08x", crc32.Checksum(line[:at], castagnoli))
	if string(line[at+1:]) != sum {
		return Vote{}, fmt.Errorf("found checksum %q, expected %s: the line was changed", line[at+1:], sum)
	}
	fields, err := csv.NewReader(bytes.NewReader(line[:at])).Read()
	if err != nil {
		return Vote{}, err
	}
	if len(fields) != 5 {
		return Vote{}, fmt.Errorf("found %d fields, expected 6", len(fields)+1)
	}
	when, err := time.Parse(timeFormat, fields[3])
	if err != nil {
		return Vote{}, err
	}
	v := Vote{Item: fields[0], Rater: fields[1], Label: fields[2], Time: when, Key: fields[4]}
	return v, v.check()
}
