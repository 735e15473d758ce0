package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const secret = "a long secret"

// enter signs in and returns the session's cookie.
func enter(t *testing.T, base string, headers ...string) *http.Cookie {
	t.Helper()
	resp := send(t, "POST", base+"/page/session", `{"token":"`+secret+`"}`, headers...)
	if resp.StatusCode != 204 || len(resp.Cookies()) != 1 {
		t.Fatalf("status %d", resp.StatusCode)
	}
	return resp.Cookies()[0]
}

// TestSignOut: a copy of the cookie is useless after signing out, and other sessions go on.
func TestSignOut(t *testing.T) {
	s, base := start(t, Options{Token: secret})
	status := func(c *http.Cookie) int {
		return send(t, "GET", base+"/api/v1/overview", "", "Cookie", "credence="+c.Value).StatusCode
	}
	mine, other := enter(t, base), enter(t, base)
	if mine.Value == other.Value {
		t.Fatal("two sessions have one id")
	}
	if resp := send(t, "DELETE", base+"/page/session", "", "Cookie", "credence="+mine.Value); resp.StatusCode != 204 {
		t.Errorf("signing out: status %d", resp.StatusCode)
	}
	if got := [2]int{status(mine), status(other)}; got != [2]int{401, 200} {
		t.Errorf("after signing out, the two sessions: %v", got)
	}
	if err := s.SetToken("another secret"); err != nil {
		t.Fatal(err)
	}
	if got := status(other); got != 401 {
		t.Errorf("a session of the old token: status %d", got)
	}
	if got := send(t, "GET", base+"/api/v1/models", "", "Authorization", "Bearer another secret").StatusCode; got != 200 {
		t.Errorf("the new token: status %d", got)
	}
	if s.SetToken("") == nil {
		t.Error("a server with a token was opened")
	}
	a, _ := newAccess("x", nil)
	now := time.Now()
	if id := a.signIn(now); !a.signedIn(id, now.Add(sessionAge-time.Second)) || a.signedIn(id, now.Add(sessionAge)) || a.signedIn("", now) {
		t.Error("a session does not end after its age")
	}
	for range mostSessions {
		a.signIn(now.Add(time.Hour))
	}
	if len(a.sessions) != mostSessions {
		t.Errorf("%d sessions", len(a.sessions))
	}
}

// TestGuesses: after five wrong tokens an address has to wait, twice as long after each, with the right token too.
func TestGuesses(t *testing.T) {
	a, err := newAccess(secret, nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for n := range freeGuesses {
		if ok, err := a.check("1.2.3.4", fmt.Sprint("guess ", n), now); ok || err != nil {
			t.Fatalf("guess %d: %v, %v", n, ok, err)
		}
	}
	for range 100 { // requests without a token are no guesses
		a.check("5.6.7.8", "", now)
	}
	for wait := time.Second; wait < 2*longestWait; wait *= 2 {
		if ok, err := a.check("1.2.3.4", secret, now.Add(min(wait, longestWait)-time.Millisecond)); ok || statusOf(err) != 429 {
			t.Errorf("before %v: %v, %v", wait, ok, err)
		}
		now = now.Add(min(wait, longestWait))
		if ok, err := a.check("1.2.3.4", "guess", now); ok || err != nil {
			t.Errorf("after %v: %v, %v", wait, ok, err)
		}
	}
	if ok, err := a.check("5.6.7.8", secret, now); !ok || err != nil {
		t.Errorf("another client: %v, %v", ok, err)
	}
	if ok, err := a.check("1.2.3.4", secret, now.Add(longestWait)); !ok || err != nil {
		t.Errorf("the right token after the wait: %v, %v", ok, err)
	}

	_, base := start(t, Options{Token: secret})
	c := enter(t, base)
	for range freeGuesses {
		send(t, "POST", base+"/page/session", `{"token":"guess"}`)
	}
	for name, resp := range map[string]*http.Response{
		"the dialog":   send(t, "POST", base+"/page/session", `{"token":"`+secret+`"}`),
		"a program":    send(t, "GET", base+"/api/v1/models", "", "Authorization", "Bearer "+secret),
		"Basic access": send(t, "GET", base+"/api/v1/models", "", "Authorization", "Basic eDp5"),
	} {
		if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "1" {
			t.Errorf("%s after five guesses: status %d, Retry-After %q", name, resp.StatusCode, resp.Header.Get("Retry-After"))
		}
	}
	for name, resp := range map[string]*http.Response{
		"a probe":     send(t, "GET", base+"/v2/health/live", ""),
		"the session": send(t, "GET", base+"/api/v1/models", "", "Cookie", "credence="+c.Value),
	} {
		if resp.StatusCode != 200 {
			t.Errorf("%s after five guesses: status %d", name, resp.StatusCode)
		}
	}
}

// TestForwarded: forwarding headers count if a trusted proxy sends them, and only what trusted proxies added.
func TestForwarded(t *testing.T) {
	a, err := newAccess("", []string{"10.0.0.0/8", "::1", "unix"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		peer    string
		headers []string
		client  string
		secure  bool
	}{
		{"192.0.2.7:99", nil, "192.0.2.7", false},
		{"192.0.2.7:99", []string{"X-Forwarded-For", "203.0.113.9", "X-Forwarded-Proto", "https"}, "192.0.2.7", false},
		{"10.1.2.3:99", []string{"X-Forwarded-For", "203.0.113.9", "X-Forwarded-Proto", "https"}, "203.0.113.9", true},
		{"10.1.2.3:99", []string{"X-Forwarded-For", "1.1.1.1, 203.0.113.9, 10.9.9.9", "X-Forwarded-Proto", "http"}, "203.0.113.9", false},
		{"[::1]:99", []string{"Forwarded", `for="[2001:db8::17]:4711";proto=https;by=203.0.113.43`}, "2001:db8::17", true},
		{"[::ffff:10.1.2.3]:99", []string{"X-Forwarded-For", "203.0.113.9"}, "203.0.113.9", false},
		{"@", []string{"X-Forwarded-For", "203.0.113.9", "X-Forwarded-Proto", "https"}, "203.0.113.9", true},
		{"10.1.2.3:99", []string{"X-Forwarded-For", "unknown"}, "10.1.2.3", false},
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: http.Header{}}
		for i := 0; i < len(c.headers); i += 2 {
			r.Header.Set(c.headers[i], c.headers[i+1])
		}
		if client, secure := a.forwarded(r); client != c.client || secure != c.secure {
			t.Errorf("%s, %q: %s, %v, want %s, %v", c.peer, c.headers, client, secure, c.client, c.secure)
		}
	}
	if _, err := newAccess("", []string{"proxy.example"}); err == nil || !strings.Contains(err.Error(), "expected an address") {
		t.Errorf("a name: %v", err)
	}
	_, base := start(t, Options{Token: secret, Proxies: []string{"127.0.0.1"}})
	if !enter(t, base, "X-Forwarded-Proto", "https").Secure || enter(t, base).Secure {
		t.Error("the cookie is Secure if and only if the client used TLS")
	}
	_, base = start(t, Options{Token: secret})
	if enter(t, base, "X-Forwarded-Proto", "https").Secure {
		t.Error("an unknown proxy is believed")
	}
}

// TestPerClient: one client cannot take all places.
func TestPerClient(t *testing.T) {
	s, base := start(t, Options{Limits: Limits{PerClient: 2, Concurrency: 3}, Proxies: []string{"127.0.0.1"}})
	for range 2 {
		if !s.access.enter("203.0.113.9", 2) {
			t.Fatal("a client is refused")
		}
	}
	if resp := send(t, "GET", base+"/api/v1/models", "", "X-Forwarded-For", "203.0.113.9"); resp.StatusCode != 429 {
		t.Errorf("the third request: status %d", resp.StatusCode)
	}
	if resp := send(t, "GET", base+"/api/v1/models", "", "X-Forwarded-For", "203.0.113.10"); resp.StatusCode != 200 {
		t.Errorf("another client: status %d", resp.StatusCode)
	}
	s.access.leave("203.0.113.9")
	if resp := send(t, "GET", base+"/api/v1/models", "", "X-Forwarded-For", "203.0.113.9"); resp.StatusCode != 200 {
		t.Errorf("after one has ended: status %d", resp.StatusCode)
	}
	if len(s.access.busy) != 1 {
		t.Errorf("requests in progress: %v", s.access.busy)
	}
}

func TestHostNames(t *testing.T) {
	_, base := start(t, Options{})
	_, named := start(t, Options{Hosts: []string{"Credence.Example"}})
	for _, c := range []struct {
		base, host string
		status     int
	}{{base, "LOCALHOST", 200}, {base, "Localhost:8080", 200}, {base, "localhost.", 200}, {base, "evil.example", 421}, {named, "credence.EXAMPLE", 200}, {named, "localhost", 421}} {
		if status, _, text := ask(t, "GET", c.base+"/v2", asJSON, "", "Host", c.host); status != c.status {
			t.Errorf("Host: %s: status %d: %s", c.host, status, text)
		}
	}
}

// TestAccessLog: a line of JSON per request, with the client, the bytes of the body and milliseconds.
func TestAccessLog(t *testing.T) {
	var log bytes.Buffer
	_, base := start(t, Options{AccessLog: true, Proxies: []string{"127.0.0.1"}, Log: slog.New(slog.NewJSONHandler(&log, nil))})
	_, _, text := ask(t, "GET", base+"/v2", asJSON, "", "X-Forwarded-For", "203.0.113.9")
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	var line struct {
		Msg, Client, Path string
		Status            int
		Bytes             int
		MS                *float64
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &line); err != nil {
		t.Fatalf("%v in %s", err, log.String())
	}
	if line.Msg != "request" || line.Client != "203.0.113.9" || line.Path != "/v2" || line.Status != 200 || line.Bytes != len(text) || line.MS == nil || *line.MS < 0 || *line.MS > 60_000 {
		t.Errorf("%+v, of %d bytes", line, len(text))
	}
}

// TestOpenMetrics: metrics need the token unless they are opened, and have a handler of their own.
func TestOpenMetrics(t *testing.T) {
	s, base := start(t, Options{Token: secret})
	_, open := start(t, Options{Token: secret, OpenMetrics: true, BasePath: "/c"})
	if a, b := send(t, "GET", base+"/metrics", "").StatusCode, send(t, "GET", open+"/c/metrics", "").StatusCode; a != 401 || b != 200 {
		t.Errorf("/metrics without a token: status %d, opened %d", a, b)
	}
	if got := send(t, "GET", open+"/c/api/v1/models", "").StatusCode; got != 401 {
		t.Errorf("another route: status %d", got)
	}
	w := newResponse(t, s.Metrics(), "/metrics")
	if !strings.Contains(w, "credence_model_info") {
		t.Errorf("metrics on their own address:\n%s", w)
	}
}

// newResponse returns what a handler answers.
func newResponse(t *testing.T, h http.Handler, path string) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	if w.Code != 200 {
		t.Errorf("%s: status %d", path, w.Code)
	}
	return w.Body.String()
}
