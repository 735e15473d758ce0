//go:build attack

package serve

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"credence/internal/rng"
)

// attackTimeout is the --timeout of the attacked server, and attackMemory is the memory it may use.
const attackTimeout, attackMemory = 2 * time.Second, 1e9

// TestAttackWork runs credence serve in its own process and sends requests up to its limits: four clients use random
// options on all routes that compute, and some disconnect before the response. No request occupies the server for
// longer than --timeout plus a second, and the process uses less than a gigabyte.
func TestAttackWork(t *testing.T) {
	times := 150
	if text := os.Getenv("CREDENCE_ATTACK_REQUESTS"); text != "" {
		var err error
		if times, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	a := startAttacked(t)
	var next sync.Mutex
	n := 0
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for {
				next.Lock()
				k := n
				n++
				next.Unlock()
				if k >= times {
					return
				}
				a.send(a.request(k))
			}
		})
	}
	clients.Wait()
	a.report(times)
}

// TestAttackFour requests the largest responses that the limits allow, four at a time and of each kind in turn.
func TestAttackFour(t *testing.T) {
	a := startAttacked(t)
	kinds := map[string]workRequest{
		"JSON":         {path: "/api/v1/models/ten/predict", kind: "text/csv", body: a.csv(50_000)},
		"MLflow":       {path: "/invocations?model=two", kind: "text/csv", body: a.csv(100_000)},
		"Parquet":      {path: "/api/v1/models/ten/predict?format=parquet&wide=true" + levelQuery(150), kind: "text/csv", body: a.csv(5000)},
		"long Parquet": {path: "/api/v1/models/ten/predict?format=parquet" + levelQuery(200), kind: "text/csv", body: a.csv(5000)},
		"JSON lines":   {path: "/api/v1/models/ten/predict?format=jsonl&full=true&digits=full" + levelQuery(160), kind: "text/csv", body: a.csv(5000)},
		"tensors":      {path: "/v2/models/ten/infer", kind: asJSON, body: inferBody(50_000)},
		"tasks":        {path: "/predict?model=ten", kind: asJSON, body: tasks(50_000)},
		"a mixture":    {path: "/api/v1/mixture", kind: asJSON, body: mixtureQuestion(1000, 50, 200, "")},
	}
	for name, r := range kinds {
		var clients sync.WaitGroup
		for range 4 {
			clients.Go(func() { a.send(name, r, 0) })
		}
		clients.Wait()
	}
	a.report(4 * len(kinds))
}

// attacked is a server under attack, with the measurements so far.
type attacked struct {
	t    *testing.T
	cmd  *exec.Cmd
	url  string
	rows []string // lines of CSV

	mu      sync.Mutex
	longest map[string]time.Duration // until the server is done, by kind of request
	read    map[string]time.Duration // until the client has read the response
	seen    map[string]int           // responses, by kind and status
}

// startAttacked serves two models and some items, like users do.
func startAttacked(t *testing.T) *attacked {
	t.Helper()
	dir := t.TempDir()
	save(t, fitted()[0], dir, "runs", "two")
	save(t, tenClasses(), dir, "runs", "ten")
	binary := filepath.Join(dir, "credence")
	build := exec.Command("go", "build", "-o", binary, "credence/cmd/credence")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building credence: %v\n%s", err, text)
	}
	a := &attacked{t: t, longest: map[string]time.Duration{}, read: map[string]time.Duration{}, seen: map[string]int{}}
	random := rand.New(rng.New(1, "people"))
	for range 100_000 {
		a.rows = append(a.rows, fmt.Sprintf("%d,%s\n", 10+random.IntN(90), []string{"f", "m", "x"}[random.IntN(3)]))
	}
	a.cmd = exec.Command(binary, "serve", filepath.Join(dir, "runs"), "--addr", "127.0.0.1:0",
		"--timeout", attackTimeout.String(), "--log-level", "warn")
	messages, err := a.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		a.cmd.Process.Kill()
		a.cmd.Wait()
	})
	lines := bufio.NewScanner(messages)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if _, url, ok := strings.Cut(lines.Text(), " at http"); ok {
			a.url = "http" + url
			go func() {
				for lines.Scan() {
					if strings.Contains(lines.Text(), "panic") || strings.Contains(lines.Text(), "status=500") {
						t.Error(lines.Text())
					}
				}
			}()
			return a
		}
	}
	t.Fatal("the server does not start")
	return nil
}

// csv returns a table of n people.
func (a *attacked) csv(n int) string { return "age,sex\n" + strings.Join(a.rows[:n], "") }

// tasks returns n tasks of Label Studio.
func tasks(n int) string {
	return `{"tasks":[` + strings.TrimSuffix(strings.Repeat(`{"id":1,"data":{"age":30,"sex":"f"}},`, n), ",") + `]}`
}

type workRequest struct{ path, kind, body string }

// request returns request k, its kind, and the time after which its client disconnects, 0 if it does not.
func (a *attacked) request(k int) (name string, r workRequest, leaves time.Duration) {
	random := rand.New(rng.New(uint64(k), "requests"))
	// upTo returns a number from 1 to n, whose logarithm is uniform.
	upTo := func(n int) int { return int(math.Exp(random.Float64() * math.Log(float64(n)+0.5))) }
	models, classes := []string{"two", "ten"}, []int{2, 10}
	m := random.IntN(2)
	switch random.IntN(6) {
	case 0, 1:
		format := []string{"json", "jsonl", "csv", "parquet"}[random.IntN(4)]
		levels := 1
		if format != "json" {
			levels = upTo(200)
		}
		name = format
		r.path = "/api/v1/models/" + models[m] + "/predict?format=" + format + levelQuery(levels)
		for _, option := range []string{"hpd=true", "full=true", "next=true", "wide=true", "top=false", "digits=full", "digits=17",
			"partial=true", "names=tidymodels", "batch=3", "max_width=0.3"} {
			if random.IntN(4) == 0 {
				r.path += "&" + option
			}
		}
		if strings.Contains(r.path, "wide=true") || format == "jsonl" {
			r.path = strings.Replace(r.path, levelQuery(levels), levelQuery(min(levels, 10_000/6/classes[m])), 1)
		}
		r.kind, r.body = "text/csv", a.csv(upTo(min(100_000, 10_000_000/levels/classes[m])))
	case 2:
		name = "MLflow"
		r = workRequest{"/invocations?model=" + models[m], "text/csv", a.csv(upTo(100_000))}
	case 3:
		name = "tensors"
		r = workRequest{"/v2/models/" + models[m] + "/infer", asJSON, inferBody(upTo(100_000))}
		if random.IntN(2) == 0 {
			r.body = strings.TrimSuffix(r.body, "}") + `,"outputs":[{"name":"mean"},{"name":"alpha"},{"name":"weights","parameters":{"binary_data":true}}]}`
		}
	case 4:
		name = "tasks"
		r = workRequest{"/predict?model=" + models[m], asJSON, tasks(upTo(100_000))}
	case 5:
		name = "mixture"
		d := 1 + upTo(300)
		k := upTo(min(1000, 100_000/d))
		levels := min(upTo(200), 50_000/d)
		r = workRequest{"/api/v1/mixture", asJSON, mixtureQuestion(k, d, levels, `,"quantiles":[`+strings.Repeat("0.25,", upTo(min(200, 20_000/d)))+`0.5]`)}
	}
	if random.IntN(20) == 0 {
		leaves = time.Duration(random.IntN(2000)) * time.Millisecond
	}
	return name, r, leaves
}

// send sends a request, waits for the whole response, and records the time. For a response that is sent as a whole,
// the server is done when it starts, since the time to read it depends on the client; for a streamed response, when
// it ends. A client may disconnect earlier. After an aborted response, the server may close a reused connection while
// the next request is on its way; the request is then sent again, as HTTP clients do.
func (a *attacked) send(name string, r workRequest, leaves time.Duration) {
	for a.sendOn(name, r, leaves) {
	}
}

// sendOn sends a request once, and reports whether the connection it got was closed before.
func (a *attacked) sendOn(name string, r workRequest, leaves time.Duration) (again bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	if leaves > 0 {
		ctx, cancel = context.WithTimeout(context.Background(), leaves)
	}
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "POST", a.url+r.path, strings.NewReader(r.body))
	if err != nil {
		a.t.Error(err)
		return false
	}
	req.Header.Set("Content-Type", r.kind)
	used := false
	req = req.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { used = c.Reused }}))
	begin := time.Now()
	what := "left"
	var start []byte
	var began time.Duration
	if resp, err := http.DefaultClient.Do(req); err == nil {
		if resp.ContentLength >= 0 || strings.Contains(r.path, "/infer") {
			began = time.Since(begin)
		}
		start, _ = io.ReadAll(io.LimitReader(resp.Body, 300))
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if what = strconv.Itoa(resp.StatusCode); err != nil {
			what += " broken off"
		}
	} else if used && (errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF)) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.seen["closed before"]++
		return true
	} else if leaves == 0 {
		what = "no answer: " + err.Error()
	}
	whole := time.Since(begin)
	took := cmp.Or(began, whole)
	if leaves > 0 && ctx.Err() != nil {
		what = "left"
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.longest[name], a.read[name] = max(a.longest[name], took), max(a.read[name], whole)
	a.seen[name+" "+what]++
	if took > attackTimeout+time.Second {
		a.t.Errorf("%s %.150s: %v", name, r.path, took)
	}
	if !slices.Contains([]string{"200", "200 broken off", "503", "left"}, what) && !bytes.Contains(start, []byte("--max-answer")) {
		a.t.Errorf("%s %.150s: %s %s", name, r.path, what, start)
	}
	return false
}

// report logs the measurements, and checks that the server still responds and has not used too much memory.
func (a *attacked) report(times int) {
	resp, err := http.Get(a.url + "/v2/health/ready")
	if err != nil {
		a.t.Fatal(err)
	}
	resp.Body.Close()
	a.t.Logf("%d requests; longest %v, with reading %v; %v", times, a.longest, a.read, a.seen)
	if runtime.GOOS != "linux" {
		return
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.cmd.Process.Pid))
	if err != nil {
		a.t.Fatal(err)
	}
	_, peak, _ := strings.Cut(string(text), "VmHWM:")
	kilobytes, err := strconv.ParseFloat(strings.Fields(peak)[0], 64)
	a.t.Logf("at most %.0f MB resident", kilobytes*1024/1e6)
	if err != nil || kilobytes*1024 > attackMemory {
		a.t.Errorf("the server took %.0f MB, expected at most %.0f", kilobytes*1024/1e6, attackMemory/1e6)
	}
}
