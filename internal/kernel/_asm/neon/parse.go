package main

import (
	"fmt"
	"regexp"
	"strings"
)

// function is a function of the compiler's output: labels, which end with a colon,
// and instructions.
type function struct {
	name  string
	lines []string
}

// constant is an array in the data of the compiler's output.
type constant struct {
	name  string
	words []string // of size bytes each
	size  int
}

var (
	labelLine = regexp.MustCompile(`^([.\w]+):`)
	object    = regexp.MustCompile(`^\t\.type\t([.\w]+),@object`)
	adrp      = regexp.MustCompile(`^adrp\tx(\d+), ([.\w]+)$`)
	low12     = regexp.MustCompile(`:lo12:[.\w]+`)
)

// parse splits the compiler's output.
func parse(asm string) (functions []function, constants []constant) {
	var c *constant
	objects := map[string]bool{}
	for _, line := range strings.Split(asm, "\n") {
		line, _, _ = strings.Cut(line, "//")
		line = strings.TrimRight(line, " \t")
		label := labelLine.FindStringSubmatch(line)
		fields := strings.Fields(line)
		switch {
		case line == "":
		case object.MatchString(line):
			objects[object.FindStringSubmatch(line)[1]] = true
		case label != nil && (objects[label[1]] || strings.HasPrefix(label[1], ".LCPI")):
			constants = append(constants, constant{name: symbol(label[1])})
			c = &constants[len(constants)-1]
		case label != nil && strings.HasPrefix(label[1], ".LBB"):
			f := &functions[len(functions)-1]
			f.lines = append(f.lines, label[1][1:]+":")
		case label != nil && !strings.HasPrefix(label[1], "."):
			functions = append(functions, function{name: label[1]})
		case fields[0] == ".word" && c != nil:
			c.words, c.size = append(c.words, fields[1]), 4
		case fields[0] == ".xword" && c != nil:
			c.words, c.size = append(c.words, fields[1]), 8
		case line[0] == '\t' && line[1] != '.':
			f := &functions[len(functions)-1]
			f.lines = append(f.lines, line[1:])
		}
	}
	return functions, constants
}

// symbol is the name of a constant in Go; labels are unique in a file.
func symbol(label string) string { return strings.ReplaceAll(strings.TrimPrefix(label, "."), ".", "_") }

// write emits a constant.
func (c *constant) write(w *strings.Builder) {
	w.WriteString("\n")
	for i, word := range c.words {
		fmt.Fprintf(w, "DATA %s<>+%d(SB)/%d, $%s\n", c.name, i*c.size, c.size, word)
	}
	fmt.Fprintf(w, "GLOBL %s<>(SB), RODATA|NOPTR, $%d\n", c.name, len(c.words)*c.size)
}

// prototype is the declaration of a kernel in its source, with the comment before it.
type prototype struct {
	name, doc string
	params    []param
}

type param struct {
	name, goType string
	offset, size int
	float        bool
}

var (
	declaration = regexp.MustCompile(`(?m)((?:^//.*\n)+)^KERNEL (\w+)\(([^)]*)\)`)
	goTypes     = map[string]string{
		"float*": "*float32", "double*": "*float64", "double**": "**float64", "int32_t*": "*int32", "int64_t*": "*int", "uint64_t*": "*uint64", "uint64_t": "uint64",
		"int64_t": "int", "float": "float32", "double": "float64",
	}
)

// prototypes reads the declarations of a source in order.
func prototypes(text string) ([]prototype, error) {
	var list []prototype
	for _, m := range declaration.FindAllStringSubmatch(text, -1) {
		p := prototype{name: m[2], doc: strings.TrimSpace(m[1])}
		offset := 0
		for _, decl := range strings.Split(m[3], ",") {
			decl = strings.TrimPrefix(strings.Join(strings.Fields(decl), " "), "const ")
			kind, name, ok := strings.Cut(decl, " ")
			for strings.HasPrefix(name, "*") {
				kind, name = kind+"*", name[1:]
			}
			goType := goTypes[kind]
			if !ok || goType == "" {
				return nil, fmt.Errorf("%s: parameter %q is of no known type", p.name, decl)
			}
			size := 8
			if goType == "float32" {
				size = 4
			}
			offset = (offset + size - 1) / size * size
			p.params = append(p.params, param{name, goType, offset, size, goType == "float32" || goType == "float64"})
			offset += size
		}
		list = append(list, p)
	}
	return list, nil
}

// size is the number of bytes of all parameters.
func (p *prototype) size() int {
	last := p.params[len(p.params)-1]
	return last.offset + last.size
}

// signature is the declaration in Go.
func (p *prototype) signature() string {
	var list []string
	for _, a := range p.params {
		list = append(list, a.name+" "+a.goType)
	}
	return p.name + "(" + strings.Join(list, ", ") + ")"
}
