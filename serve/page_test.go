package serve

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// send sends a request with headers, given as alternating names and values.
func send(t *testing.T, method, address, body string, headers ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func TestPageFiles(t *testing.T) {
	_, base := start(t, Options{Token: "a long secret", BasePath: "/credence"})
	base += "/credence"
	resp := send(t, "GET", base+"/", "")
	text, _ := io.ReadAll(resp.Body)
	policy := resp.Header.Get("Content-Security-Policy")
	if resp.StatusCode != 200 || !strings.Contains(string(text), `src="page/app.js"`) {
		t.Fatalf("status %d:\n%s", resp.StatusCode, text)
	}
	if strings.Contains(policy, "unsafe") || !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("policy %q", policy)
	}
	if strings.Contains(string(text), "style=") || strings.Contains(string(text), "//") && strings.Contains(string(text), "http") {
		t.Errorf("the page has styles of its own or loads from elsewhere:\n%s", text)
	}
	for name, kind := range map[string]string{"app.js": "text/javascript", "style.css": "text/css", "icon.svg": "image/svg+xml"} {
		resp := send(t, "GET", base+"/page/"+name, "")
		if got := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || !strings.HasPrefix(got, kind) {
			t.Errorf("%s: status %d, %s", name, resp.StatusCode, got)
		}
		if again := send(t, "GET", base+"/page/"+name, "", "If-None-Match", resp.Header.Get("ETag")); again.StatusCode != 304 {
			t.Errorf("%s again: status %d", name, again.StatusCode)
		}
	}
	for _, path := range []string{"/page/nothing.js", "/page/..%2fpage.go", "/page/page.go"} {
		if resp := send(t, "GET", base+path, ""); resp.StatusCode != 404 {
			t.Errorf("%s: status %d", path, resp.StatusCode)
		}
	}
}

func TestPageSession(t *testing.T) {
	const token = "a long secret"
	_, base := start(t, Options{Token: token})
	if resp := send(t, "GET", base+"/api/v1/overview", "", "Sec-Fetch-Mode", "cors"); resp.StatusCode != 401 || strings.Contains(resp.Header.Get("WWW-Authenticate"), "Basic") {
		t.Errorf("a script without a cookie: status %d, %s", resp.StatusCode, resp.Header.Get("WWW-Authenticate"))
	}
	for _, body := range []string{`{"token":"another secret"}`, `{}`, `{"token":""}`} {
		if resp := send(t, "POST", base+"/page/session", body); resp.StatusCode != 403 || len(resp.Cookies()) > 0 {
			t.Errorf("%s: status %d", body, resp.StatusCode)
		}
	}
	if resp := send(t, "POST", base+"/page/session", `{"token":"`+token+`"}`, "Sec-Fetch-Site", "cross-site"); resp.StatusCode != 403 {
		t.Errorf("a token from another site: status %d", resp.StatusCode)
	}
	resp := send(t, "POST", base+"/page/session", `{"token":"`+token+`"}`, "Sec-Fetch-Site", "same-origin")
	if resp.StatusCode != 204 || len(resp.Cookies()) != 1 {
		t.Fatalf("status %d", resp.StatusCode)
	}
	c := resp.Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || strings.Contains(c.Value, token) {
		t.Errorf("cookie %+v", c)
	}
	if resp := send(t, "GET", base+"/api/v1/overview", "", "Cookie", "credence="+c.Value); resp.StatusCode != 200 {
		t.Errorf("with the cookie: status %d", resp.StatusCode)
	}
	for _, value := range []string{"", "x", token, c.Value[1:]} {
		if resp := send(t, "GET", base+"/api/v1/overview", "", "Cookie", "credence="+value); resp.StatusCode != 401 {
			t.Errorf("cookie %q: status %d", value, resp.StatusCode)
		}
	}
	if resp := send(t, "DELETE", base+"/page/session", ""); len(resp.Cookies()) != 1 || resp.Cookies()[0].MaxAge >= 0 {
		t.Error("signing out leaves the cookie")
	}
}

// A page of another site cannot cast votes, with or without a token.
func TestCrossSiteVotes(t *testing.T) {
	s, base, _ := desk(t, Options{})
	vote := `{"item":"i1","rater":"eve","label":"yes"}`
	for name, headers := range map[string][]string{
		"another site":      {"Sec-Fetch-Site", "cross-site"},
		"another subdomain": {"Sec-Fetch-Site", "same-site"},
		"an older browser":  {"Origin", "https://evil.example"},
		"a sandboxed frame": {"Origin", "null"},
		"a plain form":      {"Origin", "https://evil.example", "Content-Type", "text/plain"},
		"another port":      {"Origin", "http://127.0.0.1:1"},
	} {
		for _, route := range []struct{ method, path string }{{"POST", "/api/v1/votes"}, {"DELETE", "/api/v1/votes?item=i1&rater=eve"}, {"POST", "/api/v1/queue/skip"}, {"POST", "/webhook"}} {
			if resp := send(t, route.method, base+route.path, vote, headers...); resp.StatusCode != 403 {
				t.Errorf("%s: %s %s: status %d", name, route.method, route.path, resp.StatusCode)
			}
		}
	}
	if n := len(s.votes.Votes(0)); n > 0 {
		t.Errorf("%d votes were cast", n)
	}
	for name, headers := range map[string][]string{"the page": {"Sec-Fetch-Site", "same-origin", "Origin", base}, "a program": nil} {
		if resp := send(t, "POST", base+"/api/v1/votes", vote, headers...); resp.StatusCode != 201 {
			t.Errorf("%s: status %d", name, resp.StatusCode)
		}
	}
}

func TestOverview(t *testing.T) {
	_, base, _ := desk(t, Options{})
	o := want[overview](t, "GET", base+"/api/v1/overview", nil)
	if o.Queue == nil || o.Queue.Items != 40 || !o.TakesVotes || len(o.Classes) != 2 || o.Items != 60 || o.Votes != 180 {
		t.Fatalf("%+v", o)
	}
	text := ""
	for _, a := range o.Queue.Attention {
		text += a.Mark + " " + a.Text + "\n"
	}
	if !strings.Contains(text, "1 item cannot be predicted") || !strings.Contains(text, "the votes so far disagree") {
		t.Errorf("what needs attention:\n%s", text)
	}
}
