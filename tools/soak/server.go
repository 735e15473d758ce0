//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// server is a credence serve, and what its clients know about it.
type server struct {
	name   string
	addr   string
	log    string // the vote file
	ledger *ledger
	down   epoch // it was ended, and is not ready again

	cmd              *exec.Cmd
	ended            chan struct{}
	start            *usage // after warmUp
	end              *usage
	tally            tally
	recorded, unsent int // alarms
}

// listen chooses the address.
func (v *server) listen() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	v.addr = l.Addr().String()
	v.down.toggle()
	return l.Close()
}

func (v *server) running() bool {
	if v.cmd == nil {
		return false
	}
	select {
	case <-v.ended:
		return false
	default:
		return true
	}
}

// start starts a server and waits until it answers.
func (s *soak) start(v *server) error {
	log, err := os.OpenFile(s.serverLog(v), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	v.cmd = exec.Command(s.program, "serve", filepath.Join(s.disk, "runs"), "--addr", v.addr, "--items", filepath.Join(s.dir, "pool.csv"),
		"--vote-log", v.log, "--monitor-by", "site", "--token-file", filepath.Join(s.dir, "token"),
		"--alarm-url", s.alarms.url(v), "--alarm-key-file", filepath.Join(s.dir, "key"))
	v.cmd.Stdout, v.cmd.Stderr = log, log
	v.cmd.Env = append(os.Environ(), "GODEBUG=gctrace=1")   // what is live after each collection
	v.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for this program, which then stops the servers
	if err := v.cmd.Start(); err != nil {
		return err
	}
	ended, cmd := make(chan struct{}), v.cmd
	v.ended = ended
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if !v.running() {
			return fmt.Errorf("it ended: %v: %s", v.cmd.ProcessState, s.lastLines(v))
		}
		if response, err := http.Get("http://" + v.addr + "/v2/health/live"); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				v.down.toggle()
				return nil
			}
		}
		if time.Now().After(until) {
			return errors.New("it does not answer within a minute")
		}
	}
}

// stop ends a server by a signal and waits for its end.
func (s *soak) stop(v *server, by syscall.Signal) {
	if !v.running() {
		s.failf("%s: it ended by itself: %v: %s", v.name, v.cmd.ProcessState, s.lastLines(v))
		if !v.down.on() {
			v.down.toggle()
		}
		return
	}
	v.down.toggle()
	if err := v.cmd.Process.Signal(by); err != nil {
		s.failf("%s: %v", v.name, err)
	}
	select {
	case <-v.ended:
	case <-time.After(20 * time.Second):
		s.failf("%s: it does not end within 20 seconds of %v", v.name, by)
		_ = v.cmd.Process.Kill()
		<-v.ended
	}
	if code := v.cmd.ProcessState.ExitCode(); by == syscall.SIGTERM && code != 0 {
		s.failf("%s: expected exit status 0 after SIGTERM, found %d", v.name, code)
	}
	client.CloseIdleConnections()
}

func (s *soak) serverLog(v *server) string { return filepath.Join(s.dir, v.name+".log") }

// lastLines returns the end of the server's log.
func (s *soak) lastLines(v *server) string {
	text, _ := os.ReadFile(s.serverLog(v))
	return string(bytes.TrimSpace(text[max(0, len(text)-600):]))
}

// checkServerLog looks for what a server should never print.
func (s *soak) checkServerLog(v *server) {
	f, err := os.Open(s.serverLog(v))
	if err != nil {
		s.failf("%v", err)
		return
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		for _, word := range []string{"panic", "DATA RACE", "fatal error", "status=500"} {
			if strings.Contains(lines.Text(), word) {
				s.failf("%s: its log has %q", v.name, lines.Text())
			}
		}
		if strings.Contains(lines.Text(), `msg="model loaded"`) {
			s.counts.loads.Add(1)
		}
	}
	if err := lines.Err(); err != nil {
		s.failf("%v", err)
	}
}

// usage is what a server holds.
type usage struct{ resident, live, descriptors, goroutines float64 }

// sample reads the usage of a server without traffic, after its idle connections are closed.
func (s *soak) sample(v *server) *usage {
	client.CloseIdleConnections()
	time.Sleep(500 * time.Millisecond)
	var u usage
	text, err := s.get(v, "/metrics")
	if err != nil {
		s.failf("%s: %v", v.name, err)
		return &u
	}
	u.resident, u.live = metric(text, "process_resident_memory_bytes"), s.live(v)
	u.descriptors, u.goroutines = metric(text, "process_open_fds"), metric(text, "go_goroutines")
	return &u
}

var collection = regexp.MustCompile(`(?m)^gc \d+ @.* \d+->\d+->(\d+) MB, `)

// live returns the bytes that were live after the last garbage collection: the heap itself also holds what the next one frees, and
// a server lets it grow to five times as much.
func (s *soak) live(v *server) float64 {
	text, err := os.ReadFile(s.serverLog(v))
	found := collection.FindAllSubmatch(text[max(0, len(text)-1<<16):], -1)
	if err != nil || len(found) == 0 {
		return -1
	}
	x, _ := strconv.ParseFloat(string(found[len(found)-1][1]), 64)
	return 1e6 * x
}

// metric returns a value of /metrics, or −1.
func metric(text []byte, name string) float64 {
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			if x, err := strconv.ParseFloat(strings.TrimSpace(rest), 64); err == nil {
				return x
			}
		}
	}
	return -1
}

var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}, Timeout: 30 * time.Second}

// get returns the body of a response with status 200, apart from the traffic.
func (s *soak) get(v *server, path string) ([]byte, error) {
	status, body, err := s.do(context.Background(), v, "GET", path, "", nil)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("GET %s: expected status 200, found %d: %s", path, status, body)
	}
	return body, err
}

// do sends a request with the token.
func (s *soak) do(ctx context.Context, v *server, method, path, kind string, body []byte) (status int, answer []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+v.addr+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+*s.token.Load())
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	s.counts.requests.Add(1)
	response, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}
