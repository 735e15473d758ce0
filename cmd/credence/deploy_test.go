package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"credence/internal/table"
)

// manifestCommands returns the arguments of a manifest's containers. A folder replaces its volume claims.
func manifestCommands(t *testing.T, name, dir string, completions int) []string {
	t.Helper()
	manifest, err := os.ReadFile("../../deploy/kubernetes/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var commands []string
	for _, m := range regexp.MustCompile(`args: \[(.*)\]`).FindAllSubmatch(manifest, -1) {
		commands = append(commands, strings.NewReplacer(`"`, "", ", ", " ", "/data/", dir+"/", "/runs/", dir+"/").Replace(string(m[1])))
	}
	if len(commands) != 2 || !bytes.Contains(manifest, fmt.Appendf(nil, "completions: %d\n  parallelism: %[1]d\n", completions)) ||
		!strings.Contains(commands[0], fmt.Sprintf(" auto/%d", completions)) {
		t.Fatalf("%s: commands %q", name, commands)
	}
	return commands
}

// TestKubernetesJob: the arguments of the manifest train and join a run. Folders of this test
// replace its volume claims.
func TestKubernetesJob(t *testing.T) {
	dir := t.TempDir()
	items, votes := smallData(40)
	for name, text := range map[string]string{"items.csv": items, "votes.csv": votes} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	commands := manifestCommands(t, "train.yaml", dir, 5)
	for _, index := range []string{"3", "1", "4", "0", "2"} {
		t.Setenv("JOB_COMPLETION_INDEX", index)
		must(t, commands[0]+" --epochs 1 --widths 4 --quiet")
	}
	must(t, commands[1]+" --quiet")
	must(t, "verify "+dir+"/first --quiet")
}

// TestKubernetesPredict: the arguments of the manifest predict in shards, each a process of its own, one of which is
// killed and started again, while another process, started before all of them, waits and joins.
func TestKubernetesPredict(t *testing.T) {
	commands := manifestCommands(t, "predict.yaml", ".", 8)
	partsModel(t, 2, 6000)
	if err := os.Rename("run", "first"); err != nil {
		t.Fatal(err)
	}
	toParquet(t, "new.csv", "new.parquet")
	start := func(line, index string) *exec.Cmd {
		cmd := exec.Command("credence", strings.Fields(line)...)
		cmd.Env = append(os.Environ(), "JOB_COMPLETION_INDEX="+index)
		cmd.Stderr = &bytes.Buffer{}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	wait := func(cmd *exec.Cmd) {
		t.Helper()
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v: %v\n%v", cmd.Args, err, cmd.Stderr)
		}
	}
	join := start(commands[1], "")
	killed := start(commands[0], "2")
	killed.Process.Kill()
	killed.Wait()
	for _, index := range []string{"7", "0", "3", "2", "1", "4", "6", "5"} {
		wait(start(commands[0], index))
	}
	wait(join)
	must(t, "predict first new.parquet -o one.parquet")
	sameFiles(t, "one.parquet", "predictions.parquet")
}

// toParquet writes the items of a CSV file, ids and numbers, as Parquet.
func toParquet(t *testing.T, from, to string) {
	t.Helper()
	in, err := table.Open(t.Context(), from, table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	f, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := table.NewParquetWriter(f, numberColumns(in))
	if err != nil {
		t.Fatal(err)
	}
	err = table.Records(t.Context(), in, func(rec []table.Cell) error {
		row := []any{rec[0].String()}
		for i := 1; i < len(rec); i++ {
			x, _ := rec[i].Number(false)
			row = append(row, x)
		}
		return w.Write(row...)
	})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// numberColumns are the columns of a table with ids in the first and numbers in the others.
func numberColumns(in table.Table) []table.ParquetColumn {
	columns := []table.ParquetColumn{{Name: in.Header()[0], Kind: table.ParquetText}}
	for _, name := range in.Header()[1:] {
		columns = append(columns, table.ParquetColumn{Name: name, Kind: table.ParquetNumber})
	}
	return columns
}

// TestSystemdSecurity: systemd rates the exposure of the unit below 3, of 10.
func TestSystemdSecurity(t *testing.T) {
	exe, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("no systemd-analyze")
	}
	out, err := exec.Command(exe, "security", "--offline=true", "--threshold=30", "--no-pager", "../../deploy/credence.service").CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("Overall exposure level")) {
		t.Errorf("%v\n%s", err, out)
	}
	unit, err := os.ReadFile("../../deploy/credence.service")
	if err != nil || !bytes.Contains(unit, []byte("\nSystemCallFilter=@system-service\n")) {
		t.Errorf("no filter of system calls: %v", err)
	}
}

// TestDockerIgnore: the image leaves out history, data and secrets, and has every file that the build needs.
func TestDockerIgnore(t *testing.T) {
	text, err := os.ReadFile("../../.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	ignored := func(path string) bool {
		for _, pattern := range strings.Fields(regexp.MustCompile(`(?m)^#.*$`).ReplaceAllString(string(text), "")) {
			pattern, deep := strings.CutPrefix(pattern, "**/")
			parts := strings.Split(path, "/")
			for n := range parts {
				from := 0
				if deep {
					from = n
				}
				if ok, _ := filepath.Match(pattern, strings.Join(parts[from:n+1], "/")); ok {
					return true
				}
			}
		}
		return false
	}
	for _, path := range []string{".git/config", "runs/first/model.credence", "token", "votes.csv", "server.key", "serve/serve_test.go", "e2e/go.mod"} {
		if !ignored(path) {
			t.Errorf("%s would go into the image's build", path)
		}
	}
	cmd := exec.Command("go", "list", "-deps", "-f", `{{if .Module}}{{if .Module.Main}}{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{range .SFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{range .EmbedFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}`, ".")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	files := strings.Fields(string(out))
	if len(files) < 100 {
		t.Fatalf("%d files", len(files))
	}
	for _, file := range append(files, root+"/go.mod", root+"/go.sum") {
		if path := strings.TrimPrefix(file, root+"/"); ignored(path) {
			t.Errorf("the build needs %s, which is left out", path)
		}
	}
	docker, err := os.ReadFile("../../deploy/Dockerfile")
	if err != nil || !bytes.Contains(docker, []byte(`HEALTHCHECK`)) || !bytes.Contains(docker, []byte("/empty /tmp")) {
		t.Errorf("the image has no health command or no temporary folder: %v", err)
	}
}

// TestKubernetesServe: the server of the manifest has its metrics where Prometheus is sent, and a writable /tmp.
func TestKubernetesServe(t *testing.T) {
	text, err := os.ReadFile("../../deploy/kubernetes/credence.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`prometheus.io/port: "9090"`, `"--metrics-addr", "0.0.0.0:9090"`, "containerPort: 9090", "mountPath: /tmp", "kind: PodDisruptionBudget", "kind: NetworkPolicy"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the manifest has no %s", want)
		}
	}
}
