package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// verb is a command of the program, as "credence config schema --verbs" describes it.
type verb struct {
	Name, Summary, Arguments string
	Flags                    []struct{ Name, Type, Default, Help string }
}

// pages makes the manual pages and the completions of shells, from what the program says about itself.
func (r *release) pages() error {
	program, err := r.host()
	if err != nil {
		return err
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		text, err := run(r.work, nil, program, "completion", shell)
		if err != nil {
			return err
		}
		name := "completions/credence." + shell
		if shell == "powershell" {
			name = "completions/credence.ps1"
		}
		r.manual = append(r.manual, entry{name, 0o644, text})
	}
	text, err := run(r.work, nil, program, "config", "schema", "--verbs")
	if err != nil {
		return err
	}
	var schema struct{ Verbs []verb }
	if err := json.Unmarshal(text, &schema); err != nil {
		return err
	}
	overview, err := run(r.work, nil, program, "help")
	if err != nil {
		return err
	}
	r.addPage("credence", summary, "credence COMMAND [flags]", string(overview), nil)
	for _, v := range schema.Verbs {
		if v.Name == "help" {
			continue
		}
		text, err := run(r.work, nil, program, append(strings.Fields(v.Name), "--help")...)
		if err != nil {
			return err
		}
		description, _, _ := strings.Cut(string(text), "\nUsage:\n")
		name := "credence-" + strings.ReplaceAll(v.Name, " ", "-")
		r.addPage(name, v.Summary, strings.TrimSpace("credence "+v.Name+" "+v.Arguments)+" [flags]", description, &v)
	}
	return nil
}

// addPage adds a manual page. The description keeps its lines.
func (r *release) addPage(name, about, synopsis, description string, v *verb) {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 %s \"credence %s\" \"Credence\"\n", strings.ToUpper(name), r.time().Format("2006-01-02"), r.version)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n%s\n.SH DESCRIPTION\n.nf\n%s\n.fi\n", roff(name), roff(about), roff(synopsis), roff(strings.TrimSpace(description)))
	if v != nil && len(v.Flags) > 0 {
		b.WriteString(".SH OPTIONS\n")
		for _, f := range v.Flags {
			value := ""
			if f.Type != "boolean" {
				value = " \\fI" + roff(f.Type) + "\\fR"
			}
			help := f.Help
			if f.Default != "" && f.Default != "[]" && !strings.Contains(help, "default") {
				help += " (default " + f.Default + ")"
			}
			fmt.Fprintf(&b, ".TP\n\\fB\\-\\-%s\\fR%s\n%s\n", roff(f.Name), value, roff(help))
		}
	}
	if v != nil {
		b.WriteString(".SH SEE ALSO\ncredence(1)\n")
	}
	r.manual = append(r.manual, entry{"man/man1/" + name + ".1", 0o644, []byte(b.String())})
}

// roff escapes text: backslashes, hyphens that are minus signs, and lines that would be requests.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
