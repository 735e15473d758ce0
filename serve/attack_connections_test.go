//go:build attack

package serve

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestAttackConnections sends requests to a server with thousands of idle connections, hundreds that stop
// after half a header or half a body, some that send one byte at a time, and some that never read: all
// other requests succeed as usual, and memory stays small.
func TestAttackConnections(t *testing.T) {
	idle := 2000
	if text := os.Getenv("CREDENCE_ATTACK_IDLE"); text != "" {
		var err error
		if idle, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	save(t, fitted()[0], dir, "first")
	_, addr := startChild(t, dir)
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	open := func(n int, text string) []net.Conn {
		t.Helper()
		from := len(conns)
		for range n {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatalf("connection %d: %v", len(conns), err)
			}
			conns = append(conns, c)
			if _, err := io.WriteString(c, text); err != nil {
				t.Fatal(err)
			}
		}
		return conns[from:]
	}
	// More than may be in progress at the same time.
	open(400, "POST /invocations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 60000000\r\n\r\n{\"instances\":[[30,")
	open(100, "POST /api/v1/votes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"item\":")
	open(400, "POST /invocations HTTP/1.1\r\nHost: loc")
	slow := open(50, "POST /invocations HTTP/1.1\r\n")
	rows := "age,sex\n" + strings.Repeat("30,f\n", 20_000)
	open(20, fmt.Sprintf("POST /api/v1/models/first/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\nAccept: text/csv\r\nContent-Length: %d\r\n\r\n%s", len(rows), rows))
	open(idle, "")
	done := make(chan struct{})
	defer close(done)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			case <-time.After(100 * time.Millisecond):
			}
			for _, c := range slow {
				io.WriteString(c, string("X-Slow: 123456789"[i%17]))
			}
		}
	}()
	client := &http.Client{Timeout: 20 * time.Second}
	for i := range 200 {
		resp, err := client.Post("http://"+addr+"/invocations", asJSON, strings.NewReader(`{"instances":[[30,"f"]]}`))
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Fatalf("request %d: %d %s", i, resp.StatusCode, text)
		}
	}
	resp, err := client.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "process_resident_memory_bytes "); ok {
			x, err := strconv.ParseFloat(text, 64)
			t.Logf("%d connections, %.0f MB", len(conns), x/1e6)
			if err != nil || x > 1e9 {
				t.Errorf("the server has %s bytes in memory", text)
			}
		}
	}
}

// startChild serves a folder in another process, which is stopped when the test ends, and returns its
// address.
func startChild(t *testing.T, dir string) (*exec.Cmd, string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run", "^TestAttackServer$")
	cmd.Env = append(os.Environ(), childEnv+"="+filepath.Clean(dir))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if addr, ok := strings.CutPrefix(lines.Text(), "listening "); ok {
			go io.Copy(io.Discard, out)
			return cmd, addr
		}
	}
	t.Fatal("the server does not start")
	return nil, ""
}
