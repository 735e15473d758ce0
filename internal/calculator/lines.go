package calculator

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"credence/internal/par"
)

const (
	// longestLine bounds the memory that one line of input can take.
	longestLine = 64 << 20
	// linesAtOnce bounds how many answers wait for each other.
	linesAtOnce = 256
)

// lineError is the answer to a line that could not be answered.
type lineError struct {
	Line  int    `json:"line"`
	Error string `json:"error"`
}

// Answer writes the answers to the lines of r, in their order, and counts the
// lines that are not blank and those of them that could not be answered.
func Answer(r io.Reader, w io.Writer) (lines, bad int, err error) {
	return answerLines(newLineReader(r, longestLine), w)
}

// answerLines does the work of Answer. Lines that have arrived are answered at
// once on all cores; none waits for more input.
func answerLines(r *lineReader, w io.Writer) (lines, bad int, err error) {
	var answers bytes.Buffer
	for {
		batch, readErr := r.batch()
		par.For(len(batch), func(i int) { batch[i].solve() })
		answers.Reset()
		for _, l := range batch {
			answers.Write(l.answer)
			answers.WriteByte('\n')
			lines++
			if l.err != nil {
				bad++
			}
		}
		if answers.Len() > 0 {
			if _, err := w.Write(answers.Bytes()); err != nil {
				return lines, bad, fmt.Errorf("writing answers: %w", err)
			}
		}
		if readErr == io.EOF {
			return lines, bad, nil
		}
		if readErr != nil {
			return lines, bad, fmt.Errorf("reading line %d of standard input: %w", r.number, readErr)
		}
	}
}

// inputLine is a line on its way to its answer.
type inputLine struct {
	number int // counted from 1
	text   []byte
	err    error
	answer []byte
}

func (l *inputLine) solve() {
	if l.err == nil {
		l.answer, l.err = AnswerOne(context.Background(), l.text, nil)
	}
	if l.err != nil {
		// Cannot fail: it holds an int and a string.
		l.answer, _ = marshalLine(lineError{l.number, l.err.Error()})
	}
}

// lineReader reads lines of bounded length.
type lineReader struct {
	r       *bufio.Reader
	longest int
	number  int // of the line read last
}

func newLineReader(r io.Reader, longest int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 256<<10), longest: longest}
}

// batch waits for a line and returns it with those that have arrived already,
// leaving out blank ones. The error, such as io.EOF, concerns what follows them.
func (r *lineReader) batch() ([]inputLine, error) {
	var lines []inputLine
	for {
		text, err := r.line()
		l := inputLine{number: r.number, text: bytes.TrimRight(text, "\r\n")}
		if errors.Is(err, errLongLine) {
			l.err, err = err, nil
		}
		if err != nil && err != io.EOF {
			return lines, err // the line that broke off is not one to answer
		}
		if l.err != nil || len(bytes.TrimSpace(text)) > 0 {
			lines = append(lines, l)
		}
		if err != nil || len(lines) == linesAtOnce || len(lines) > 0 && !r.ready() {
			return lines, err
		}
	}
}

// ready reports whether the next line can be read without waiting.
func (r *lineReader) ready() bool {
	arrived, _ := r.r.Peek(r.r.Buffered())
	return bytes.IndexByte(arrived, '\n') >= 0
}

var errLongLine = errors.New("the line is too long")

// line returns a copy of the next line. One that is too long is skipped to its
// end, so that the next can be read. The last line may lack its end: it comes
// with io.EOF.
func (r *lineReader) line() ([]byte, error) {
	r.number++
	var line []byte
	long := false
	for {
		part, err := r.r.ReadSlice('\n')
		if len(line)+len(part) > r.longest {
			long, line = true, nil
		}
		if !long {
			line = append(line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
		case long && (err == nil || err == io.EOF):
			// At the end of input the next call reports it.
			return nil, fmt.Errorf("%w: at most %d bytes are read", errLongLine, r.longest)
		default:
			return line, err
		}
	}
}
