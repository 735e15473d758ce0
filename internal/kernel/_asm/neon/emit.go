package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	branch    = regexp.MustCompile(`^b(\.\w\w)?\t\.(LBB\w+)$`)
	ifZero    = regexp.MustCompile(`^(cbn?z)\t([wx])(\d+|zr), \.(LBB\w+)$`)
	ifBit     = regexp.MustCompile(`^(tbn?z)\t[wx](\d+), #(\d+), \.(LBB\w+)$`)
	encoding  = regexp.MustCompile(`^\t(.*?)\s*// encoding: \[(0x..),(0x..),(0x..),(0x..)\]$`)
	forbidden = regexp.MustCompile(`\b(sp|wsp|[xw](18|28|29|30)|bl|blr|br)\b`)
	moveSP    = regexp.MustCompile(`^(?:sub|add)\tsp, sp, #(\d+)$`)
	saveFP    = regexp.MustCompile(`^(str|ldr)\tx29, \[sp, #\d+\]$`)
	spilled   = regexp.MustCompile(`\[sp(?:, #(\d+))?\]$`)
)

// linkSize is what Go keeps for itself at the lower end of a frame, in whole vectors.
const linkSize = 16

// conditions are Go's names of branches.
var conditions = map[string]string{
	"": "B", ".eq": "BEQ", ".ne": "BNE", ".lt": "BLT", ".le": "BLE", ".gt": "BGT", ".ge": "BGE",
	".lo": "BLO", ".ls": "BLS", ".hi": "BHI", ".hs": "BHS", ".mi": "BMI", ".pl": "BPL",
}

// writeFunction writes one function. Its convention, preserve_none, has integers in X20 to
// X27 and numbers in V0 to V7, and lets all registers but X29 and X30 change, as Go's does but for
// X18 and X28. What the compiler keeps on the stack lies in the frame of the Go function, above the place
// of the return address.
func writeFunction(w *strings.Builder, p prototype, f function, words []string) error {
	if p.name != f.name {
		return fmt.Errorf("expected kernel %s", p.name)
	}
	frame := 0
	for _, line := range f.lines {
		if m := moveSP.FindStringSubmatch(line); m != nil {
			size, _ := strconv.Atoi(m[1])
			frame = size + linkSize
		}
	}
	fmt.Fprintf(w, "\n// func %s\nTEXT ·%s(SB), NOSPLIT, $%d-%d\n", p.signature(), p.name, frame, p.size())
	integers, floats := 20, 0
	for _, a := range p.params {
		switch {
		case a.goType == "float32":
			fmt.Fprintf(w, "\tFMOVS %s+%d(FP), F%d\n", a.name, a.offset, floats)
			floats++
		case a.float:
			fmt.Fprintf(w, "\tFMOVD %s+%d(FP), F%d\n", a.name, a.offset, floats)
			floats++
		default:
			fmt.Fprintf(w, "\tMOVD %s+%d(FP), R%d\n", a.name, a.offset, integers)
			integers++
		}
	}
	if integers > 28 {
		return errors.New("more than 8 integer parameters")
	}
	for _, line := range f.lines {
		switch m := branch.FindStringSubmatch(line); {
		case strings.HasSuffix(line, ":"):
			fmt.Fprintf(w, "\n%s\n", line)
		case managed(line):
		case line == "ret":
			w.WriteString("\tRET\n")
		case m != nil:
			if conditions[m[1]] == "" {
				return fmt.Errorf("no name for the branch %q", line)
			}
			fmt.Fprintf(w, "\t%s %s\n", conditions[m[1]], m[2])
		default:
			if text := goLine(line); text != "" {
				fmt.Fprintf(w, "\t%s\n", text)
				continue
			}
			if forbidden.MatchString(spilled.ReplaceAllString(line, "")) {
				return fmt.Errorf("%q uses the stack, calls a function, or changes a register that is not ours", line)
			}
			fmt.Fprintf(w, "\t%s\n", words[0])
			words = words[1:]
		}
	}
	return nil
}

// managed reports whether Go's assembler does what a line does: it makes the frame, and saves the frame pointer, which
// nothing else may use.
func managed(line string) bool { return moveSP.MatchString(line) || saveFP.MatchString(line) }

// goLine returns the other instructions that are written with Go's mnemonics, or nothing.
func goLine(line string) string {
	if m := ifZero.FindStringSubmatch(line); m != nil {
		name := strings.ToUpper(m[1])
		if m[2] == "w" {
			name += "W"
		}
		return fmt.Sprintf("%s R%s, %s", name, m[3], m[4])
	}
	if m := ifBit.FindStringSubmatch(line); m != nil {
		return fmt.Sprintf("%s $%s, R%s, %s", strings.ToUpper(m[1]), m[3], m[2], m[4])
	}
	if m := adrp.FindStringSubmatch(line); m != nil {
		return fmt.Sprintf("MOVD $%s<>(SB), R%s", symbol(m[2]), m[1])
	}
	return ""
}

// encode returns the instructions that have no line of Go as words with a comment, in order.
func encode(lines []string) ([]string, error) {
	var input []string
	for _, line := range lines {
		if strings.HasSuffix(line, ":") || line == "ret" || branch.MatchString(line) || managed(line) || goLine(line) != "" {
			continue
		}
		line = spilled.ReplaceAllStringFunc(line, func(at string) string {
			offset, _ := strconv.Atoi(spilled.FindStringSubmatch(at)[1])
			return fmt.Sprintf("[sp, #%d]", offset+linkSize)
		})
		input = append(input, low12.ReplaceAllString(line, "#0"))
	}
	text, err := command("llvm-mc-19", strings.Join(input, "\n"), "-triple=aarch64", "-show-encoding")
	if err != nil {
		return nil, err
	}
	var words []string
	for _, line := range strings.Split(text, "\n") {
		if m := encoding.FindStringSubmatch(line); m != nil {
			bytes := m[2:]
			slices.Reverse(bytes)
			hex := strings.ReplaceAll(strings.Join(bytes, ""), "0x", "")
			words = append(words, fmt.Sprintf("WORD $0x%s // %s", hex, strings.ReplaceAll(m[1], "\t", " ")))
		}
	}
	if len(words) != len(input) {
		return nil, fmt.Errorf("%d of %d instructions have an encoding", len(words), len(input))
	}
	return words, nil
}
