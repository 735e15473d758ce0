package main

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// writeCertificate writes a certificate of 127.0.0.1 with a serial number to cert.pem, and its key to key.pem.
func writeCertificate(t *testing.T, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// freePort returns an address that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestServeProcess runs a server: with --log json it prints nothing but JSON, /metrics has an address of its own, SIGHUP
// reads the token and the certificate again and keeps those before where they cannot be read, and SIGTERM ends it.
func TestServeProcess(t *testing.T) {
	t.Chdir(t.TempDir())
	blobs(t, "items.csv", "votes.csv", 3, 60)
	must(t, "train --data items.csv --votes votes.csv --epochs 1 --ensemble 1 --widths 4 --quiet --out run")
	writeCertificate(t, 1)
	setToken := func(text string) {
		if err := os.WriteFile("token", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	setToken("first token\n")
	addr, metrics := freePort(t), freePort(t)
	cmd := exec.Command("credence", "serve", "run", "--addr", addr, "--token-file", "token", "--tls-cert", "cert.pem", "--tls-key", "key.pem", "--metrics-addr", metrics,
		"--log", "json", "--access-log", "--votes", "log.csv")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	lines := make(chan map[string]any, 1000)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(stderr); in.Scan(); {
			var line map[string]any
			if err := json.Unmarshal(in.Bytes(), &line); err != nil {
				t.Errorf("not JSON: %s", in.Bytes())
			}
			lines <- line
		}
	}()
	await := func(messages ...string) { // in any order
		t.Helper()
		for len(messages) > 0 {
			select {
			case line, ok := <-lines:
				if !ok {
					t.Fatalf("the server ended before %q", messages)
				}
				text, _ := line["msg"].(string)
				if i := slices.IndexFunc(messages, func(m string) bool { return strings.HasPrefix(text, m) }); i >= 0 {
					messages = slices.Delete(messages, i, i+1)
				}
			case <-time.After(30 * time.Second):
				t.Fatalf("the log has no %q", messages)
			}
		}
	}
	get := func(token string) (status int, serial int64) {
		t.Helper()
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
		r, err := http.NewRequest("GET", "https://"+addr+"/v2", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode, resp.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	expectAnswers := func(when, token string, serial int64) {
		t.Helper()
		if status, n := get(token); status != 200 || n != serial {
			t.Errorf("%s: status %d, certificate %d", when, status, n)
		}
	}
	await("--votes is deprecated: use --vote-log")
	await("model loaded")
	cmd.Process.Signal(syscall.SIGHUP) // does not end it, though it is not serving yet
	await("serving", "token and certificate read again")
	expectAnswers("at first", "first token", 1)
	await("request")
	resp, err := http.Get("http://" + metrics + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	if resp.Body.Close(); resp.StatusCode != 200 || !bytes.Contains(text, []byte("credence_requests_total")) {
		t.Errorf("metrics: status %d", resp.StatusCode)
	}
	setToken("second token\n")
	writeCertificate(t, 2)
	cmd.Process.Signal(syscall.SIGHUP)
	await("token and certificate read again")
	expectAnswers("after SIGHUP", "second token", 2)
	if status, _ := get("first token"); status != 401 {
		t.Errorf("the old token: status %d", status)
	}
	setToken("short")
	cmd.Process.Signal(syscall.SIGHUP)
	await("reading the token and the certificate again failed")
	expectAnswers("after a SIGHUP with a bad token", "second token", 2)
	cmd.Process.Signal(syscall.SIGTERM)
	for range lines { // to its end
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("at the end: %v", err)
	}
	if _, err := os.Stat("log.csv"); err != nil {
		t.Error(err)
	}
}

// TestHealth asks a server on a socket.
func TestHealth(t *testing.T) {
	t.Chdir(t.TempDir())
	blobs(t, "items.csv", "votes.csv", 3, 60)
	must(t, "train --data items.csv --votes votes.csv --epochs 1 --ensemble 1 --widths 4 --quiet --out run")
	cmd := exec.Command("credence", "serve", "run", "--addr", "unix:s.sock", "--log", "json")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	}()
	var stdout, stderr bytes.Buffer
	for range 200 {
		stdout.Reset()
		stderr.Reset()
		if program([]string{"health", "--addr", "unix:s.sock"}, nil, &stdout, &stderr) == exitOK {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if stdout.String() != "{\"ready\":true}\n" {
		t.Errorf("%s%s", &stdout, &stderr)
	}
	must(t, "health --addr unix:s.sock --live --quiet")
}

// TestPortTaken: an address in use is an error that names the address and says what to do, for the server and its metrics.
func TestPortTaken(t *testing.T) {
	t.Chdir(t.TempDir())
	blobs(t, "items.csv", "votes.csv", 3, 60)
	must(t, "train --data items.csv --votes votes.csv --epochs 1 --ensemble 1 --widths 4 --quiet --out run")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := l.Addr().String()
	for _, flags := range []string{"--addr " + taken, "--addr " + freePort(t) + " --metrics-addr " + taken} {
		var stdout, stderr bytes.Buffer
		code := program(strings.Fields("serve run "+flags), nil, &stdout, &stderr)
		text := stderr.String()
		if code != exitError || !strings.Contains(text, "credence: error: ") || !strings.Contains(text, taken) || !strings.Contains(text, "address already in use") ||
			!strings.Contains(text, "credence: hint: another program, perhaps another credence serve, uses this address") {
			t.Errorf("%s: exit code %d: %s", flags, code, text)
		}
	}
}
