package serve

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// access decides who may use the server: it holds the token, the sessions of browsers, the wrong guesses of each
// client, and the number of its requests in progress.
type access struct {
	proxies []netip.Prefix // whose forwarding headers are believed
	perhaps bool           // peers on a Unix socket are believed as well

	mu       sync.Mutex
	token    string
	sessions map[string]time.Time // id → when it ends
	guesses  map[string]*guesses  // by client
	busy     map[string]int       // requests in progress by client
}

// guesses are the wrong tokens of a client since its last correct one.
type guesses struct {
	wrong   int
	blocked time.Time // until then no token of the client is checked
}

const (
	sessionAge   = 30 * 24 * time.Hour
	mostSessions = 10_000 // the ones that end first are forgotten
	freeGuesses  = 5      // wrong tokens before a client has to wait
	longestWait  = time.Minute
	mostGuessers = 10_000 // clients whose guesses are counted
)

// newAccess parses the trusted proxies: addresses, networks such as 10.0.0.0/8, or unix.
func newAccess(token string, trusted []string) (*access, error) {
	a := &access{token: token, sessions: map[string]time.Time{}, guesses: map[string]*guesses{}, busy: map[string]int{}}
	for _, text := range trusted {
		if text == "unix" {
			a.perhaps = true
			continue
		}
		p, err := netip.ParsePrefix(text)
		if err != nil {
			var one netip.Addr
			if one, err = netip.ParseAddr(text); err == nil {
				p = netip.PrefixFrom(one, one.BitLen())
			}
		}
		if err != nil {
			return nil, fmt.Errorf("trusted proxy %q: expected an address, a network such as 10.0.0.0/8, or unix", text)
		}
		a.proxies = append(a.proxies, p.Masked())
	}
	return a, nil
}

// trusts reports whether an address is that of a trusted proxy.
func (a *access) trusts(address string) bool {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return a.perhaps && (address == "" || address == "@")
	}
	return slices.ContainsFunc(a.proxies, func(p netip.Prefix) bool { return p.Contains(ip.Unmap()) })
}

// forwarded returns the address of the client of a request and whether it used TLS. Behind trusted proxies, they are
// those that the first of them reports in X-Forwarded-For and X-Forwarded-Proto, or in Forwarded (RFC 7239).
func (a *access) forwarded(r *http.Request) (client string, secure bool) {
	client, secure = r.RemoteAddr, r.TLS != nil
	if host, _, err := net.SplitHostPort(client); err == nil {
		client = host
	}
	if !a.trusts(client) {
		return client, secure
	}
	addresses, protocols := headerList(r, "X-Forwarded-For"), headerList(r, "X-Forwarded-Proto")
	for _, hop := range headerList(r, "Forwarded") {
		for pair := range strings.SplitSeq(hop, ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
			value = strings.Trim(value, `"`)
			switch strings.ToLower(name) {
			case "for":
				addresses = append(addresses, value)
			case "proto":
				protocols = append(protocols, value)
			}
		}
	}
	// The last entry is the one that the nearest proxy added; those before it may be made up by the client.
	for _, text := range slices.Backward(addresses) {
		if host, _, err := net.SplitHostPort(text); err == nil {
			text = host
		}
		text = strings.Trim(text, "[]")
		if _, err := netip.ParseAddr(text); err != nil {
			break
		}
		if client = text; !a.trusts(text) {
			break
		}
	}
	if n := len(protocols); n > 0 {
		secure = strings.EqualFold(protocols[n-1], "https")
	}
	return client, secure
}

// headerList returns the elements of a header that is a list.
func headerList(r *http.Request, name string) []string {
	var list []string
	for _, line := range r.Header.Values(name) {
		for text := range strings.SplitSeq(line, ",") {
			list = append(list, strings.TrimSpace(text))
		}
	}
	return list
}

// setToken replaces the token. If it is another one, all sessions end.
func (a *access) setToken(token string) (changed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if changed = token != a.token; changed {
		a.token = token
		clear(a.sessions)
		clear(a.guesses)
	}
	return changed
}

// required reports whether there is a token.
func (a *access) required() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.token != ""
}

// check compares a token that a client sent. After a few wrong ones the client has to wait, longer after each; a
// correct token is refused meanwhile too, since its acceptance would confirm the guess.
func (a *access) check(client, given string, now time.Time) (ok bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	g := a.guesses[client]
	if g != nil && now.Before(g.blocked) {
		return false, tooSoon(g.blocked.Sub(now))
	}
	// Hashes are compared in constant time, so that timing does not even reveal the length of the token.
	x, y := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(a.token))
	switch ok = subtle.ConstantTimeCompare(x[:], y[:]) == 1; {
	case ok:
		delete(a.guesses, client)
		return true, nil
	case given == "":
		return false, nil
	case g == nil:
		if len(a.guesses) >= mostGuessers {
			clear(a.guesses)
		}
		g = &guesses{}
		a.guesses[client] = g
	}
	if g.wrong++; g.wrong >= freeGuesses {
		wait := time.Duration(math.Exp2(float64(min(g.wrong-freeGuesses, 10)))) * time.Second
		g.blocked = now.Add(min(wait, longestWait))
	}
	return false, nil
}

// tooSoon is the error for a client that has to wait after wrong tokens.
func tooSoon(wait time.Duration) error {
	s := int(math.Ceil(wait.Seconds()))
	return &httpError{http.StatusTooManyRequests, fmt.Errorf("too many wrong tokens from this address: try again in %d s", s), s}
}

// signIn begins a session and returns its id.
func (a *access) signIn(now time.Time) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.sessions) >= mostSessions {
		first, end := "", time.Time{}
		for id, t := range a.sessions {
			if first == "" || t.Before(end) {
				first, end = id, t
			}
		}
		delete(a.sessions, first)
	}
	id := rand.Text() + rand.Text()
	a.sessions[id] = now.Add(sessionAge)
	return id
}

// signOut ends a session.
func (a *access) signOut(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.sessions, id)
}

// signedIn reports whether a session exists and has not ended.
func (a *access) signedIn(id string, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	end, ok := a.sessions[id]
	return ok && now.Before(end)
}

// enter counts a request of a client, unless it has limit requests in progress.
func (a *access) enter(client string, limit int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.busy[client] >= limit {
		return false
	}
	a.busy[client]++
	return true
}

func (a *access) leave(client string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.busy[client]--; a.busy[client] <= 0 {
		delete(a.busy, client)
	}
}

// cookieName is the name of the session cookie that a browser gets in exchange for the token.
const cookieName = "credence"

// sessionOf returns the id in the cookie of a request, or "".
func sessionOf(r *http.Request) string {
	c, err := r.Cookie(cookieName)
	if err != nil {
		return ""
	}
	return c.Value
}

// setCookie sets a cookie that scripts cannot read and that is not sent with cross-site requests, or
// deletes it if age is negative.
func (s *Server) setCookie(w http.ResponseWriter, r *http.Request, value string, age int) {
	_, secure := s.access.forwarded(r)
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: value, Path: s.options.BasePath + "/", MaxAge: age,
		HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode})
}

// signIn checks the token and begins a session.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request) error {
	var request struct {
		Token string `json:"token"`
	}
	r.Body = http.MaxBytesReader(w, r.Body, 4096)
	if err := s.decode(w, r, &request); err != nil {
		return err
	}
	now := time.Now()
	if s.access.required() {
		client, _ := s.access.forwarded(r)
		if ok, err := s.access.check(client, request.Token, now); err != nil {
			return err
		} else if !ok {
			return failf(http.StatusForbidden, "wrong token")
		}
	}
	s.setCookie(w, r, s.access.signIn(now), int(sessionAge.Seconds()))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// signOut ends the session on the server and deletes the cookie.
func (s *Server) signOut(w http.ResponseWriter, r *http.Request) error {
	s.access.signOut(sessionOf(r))
	s.setCookie(w, r, "", -1)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// SetToken replaces the token that clients must send; it must not be empty if the server was started with one.
// Sessions that began with another token end.
func (s *Server) SetToken(token string) error {
	if token == "" && s.access.required() {
		return fmt.Errorf("expected a token, found none: a server that requires one cannot be opened while it runs")
	}
	if s.access.setToken(token) {
		s.options.Log.Info("token replaced: sessions have ended")
	}
	return nil
}

// openRoutes require no token: probes, and the page, which asks for the token itself.
var openRoutes = map[string]bool{"GET /v2/health/live": true, "GET /v2/health/ready": true,
	"GET /{$}": true, "GET /page/{file}": true, "POST /page/session": true, "DELETE /page/session": true}

// admit checks the host, the origin and the token of a request.
func (s *Server) admit(mux *http.ServeMux, r *http.Request, client string) error {
	if err := s.checkHost(r); err != nil {
		return err
	}
	if err := crossSite.Check(r); err != nil {
		return failf(http.StatusForbidden, "the request comes from a page of another site: %w", err)
	}
	now := time.Now()
	if !s.access.required() || s.access.signedIn(sessionOf(r), now) {
		return nil
	}
	_, route := mux.Handler(r)
	route = strings.Replace(route, " "+s.options.BasePath, " ", 1)
	if openRoutes[route] || s.options.OpenMetrics && route == "GET /metrics" {
		return nil
	}
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		_, given, _ = r.BasicAuth()
	}
	if ok, err := s.access.check(client, given, now); err != nil || ok {
		return err
	}
	return failf(http.StatusUnauthorized, "missing or wrong token: expected Authorization: Bearer TOKEN, or Basic with the token as the password")
}

// checkHost returns an error if the Host header is not a name of the server. This prevents DNS rebinding,
// where a page of another site has a name that resolves to this server. Names are not case-sensitive.
func (s *Server) checkHost(r *http.Request) error {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	byDefault := s.access.required() || host == "" || host == "localhost" || net.ParseIP(host) != nil
	same := func(name string) bool { return strings.EqualFold(name, host) }
	if slices.ContainsFunc(s.options.Hosts, same) || s.options.Hosts == nil && byDefault {
		return nil
	}
	return failf(http.StatusMisdirectedRequest, "host %s is not a name of this server (credence serve --host)", strconv.Quote(host))
}
