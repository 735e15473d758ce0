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
	cycles  = regexp.MustCompile(`Total Cycles: +(\d+)`)
	madd    = regexp.MustCompile(`^fml[as]\t`)
	target  = regexp.MustCompile(`\.(LBB\w+)$`)
	vectors = regexp.MustCompile(`^(ldr|str|stur|ldur)\tq|^(ld1|st1)\t`)
	pairs   = regexp.MustCompile(`^(ldp|stp)\tq`)
)

// rounds is how often a loop is simulated.
const rounds = 200

// simulateLoops prints, for the innermost loop of each function with most multiply-adds, how many of them
// an iteration has, how many vectors it loads and stores, and for each processor the part of the
// limit at which they run: that of the same multiply-adds without anything else.
func simulateLoops(functions []function) {
	for _, f := range functions {
		loop := innerLoop(f)
		n, moved := count(loop, madd), count(loop, vectors)+2*count(loop, pairs)
		if n < 4 {
			continue
		}
		var alone []string
		for i := range n { // of other sums, so that none waits for another
			alone = append(alone, fmt.Sprintf("fmla\tv%d.4s, v30.4s, v31.s[0]", i%24))
		}
		fmt.Printf("| %s | %d | %d |", f.name, n, moved)
		for _, cpu := range []string{"neoverse-n1", "neoverse-v2"} {
			limit, taken := simulated(cpu, alone), simulated(cpu, loop)
			fmt.Printf(" %.1f | %.0f%% |", float64(taken)/rounds, 100*float64(limit)/float64(taken))
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
