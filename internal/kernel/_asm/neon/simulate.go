package main

import (
	"fmt"
	"log"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	cycles = regexp.MustCompile(`Total Cycles: +(\d+)`)
	madd   = regexp.MustCompile(`^fml[as]\t`)
	target = regexp.MustCompile(`\.(LBB\w+)$`)
	moves  = regexp.MustCompile(`^(ld|st)[^\t]*\t(q\d+(, q\d+)?|\{ v[^}]*\})`)
	vector = regexp.MustCompile(`[qv]\d+`)
)

// rounds is how often a loop is simulated.
const rounds = 200

// independent is the number of multiply-adds of which none waits for another.
const independent = 24

// simulateLoops prints, for the innermost loop of each function with most multiply-adds, how many of them
// an iteration has, how many vectors it loads and stores, and for each processor the part of the
// limit at which they run: that of as many multiply-adds without anything else.
func simulateLoops(functions []function) {
	var alone []string
	for i := range independent {
		alone = append(alone, fmt.Sprintf("fmla\tv%d.4s, v30.4s, v31.s[0]", i))
	}
	for _, f := range functions {
		loop := innerLoop(f)
		n := count(loop, madd)
		if n < 4 {
			continue
		}
		moved := 0
		for _, line := range loop {
			moved += len(vector.FindAllString(moves.FindString(line), -1))
		}
		fmt.Printf("| %s | %d | %d |", f.name, n, moved)
		for _, cpu := range []string{"neoverse-n1", "neoverse-v2"} {
			limit, taken := float64(simulated(cpu, alone)*n)/independent, float64(simulated(cpu, loop))
			fmt.Printf(" %.1f | %.0f%% |", taken/rounds, 100*limit/taken)
		}
		fmt.Println()
	}
}

// innerLoop returns the instructions of the loop with most multiply-adds: a branch back to a label, and no label between.
func innerLoop(f function) (best []string) {
	for i, line := range f.lines {
		m := target.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		start := slices.Index(f.lines[:i], m[1]+":")
		if start < 0 {
			continue
		}
		body := f.lines[start+1 : i+1]
		inner := !slices.ContainsFunc(body, func(s string) bool { return strings.HasSuffix(s, ":") })
		if inner && count(body, madd) > count(best, madd) {
			best = body
		}
	}
	return best
}

// count returns the number of lines that match.
func count(lines []string, re *regexp.Regexp) (n int) {
	for _, line := range lines {
		if re.MatchString(line) {
			n++
		}
	}
	return n
}

// simulated returns the cycles that llvm-mca gives for rounds of a loop.
func simulated(cpu string, loop []string) int {
	// Where a branch goes does not matter, but it has to be defined.
	text := strings.Join(loop, "\n") + "\n"
	for _, line := range loop {
		if m := target.FindStringSubmatch(line); m != nil {
			text = strings.ReplaceAll(text, "."+m[1], "0")
		}
	}
	out, err := command("llvm-mca-19", text, "-mtriple=aarch64", "-mcpu="+cpu, "-iterations="+strconv.Itoa(rounds))
	if err != nil {
		log.Fatal(err)
	}
	n, err := strconv.Atoi(cycles.FindStringSubmatch(out)[1])
	if err != nil {
		log.Fatal(err)
	}
	return n
}
