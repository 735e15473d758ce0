package serve

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

// The page is plain HTML, CSS and JavaScript modules: what is in the folder is what browsers get.
//
//go:embed page
var pageFiles embed.FS

// pagePolicy lets the page load and ask nothing but this server, and nobody else show it.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// pageFile is a file of the page, ready to send.
type pageFile struct {
	kind, tag string
	text      []byte
}

// page adds the page at / and what it loads. These hold no data, so that they need no token: the page
// asks for it, once, and then has a cookie.
func (s *Server) page(mux *http.ServeMux) error {
	files := map[string]*pageFile{}
	err := fs.WalkDir(pageFiles, "page", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := pageFiles.ReadFile(name)
		sum := sha256.Sum256(text)
		files[path.Base(name)] = &pageFile{mime.TypeByExtension(path.Ext(name)), `"` + hex.EncodeToString(sum[:8]) + `"`, text}
		return err
	})
	if err != nil {
		return err
	}
	s.route(mux, "GET /{$}", oipErrors, func(w http.ResponseWriter, r *http.Request) error {
		return files["index.html"].send(w, r)
	})
	s.route(mux, "GET /page/{file}", oipErrors, func(w http.ResponseWriter, r *http.Request) error {
		f := files[r.PathValue("file")]
		if f == nil {
			return failf(http.StatusNotFound, "the page has no file %q", r.PathValue("file"))
		}
		return f.send(w, r)
	})
	s.route(mux, "POST /page/session", oipErrors, s.signIn)
	s.route(mux, "DELETE /page/session", oipErrors, func(w http.ResponseWriter, r *http.Request) error {
		s.setCookie(w, r, "", -1)
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
	return nil
}

// send answers with a file, or says that the browser has it.
func (f *pageFile) send(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.tag)
	h.Set("Content-Type", f.kind)
	if strings.Contains(r.Header.Get("If-None-Match"), f.tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	_, err := w.Write(f.text)
	return err
}

// pageOpen reports whether a route is part of the page that everybody may load.
func (s *Server) pageOpen(route string) bool {
	switch strings.Replace(route, " "+s.options.BasePath, " ", 1) {
	case "GET /{$}", "GET /page/{file}", "POST /page/session", "DELETE /page/session":
		return true
	}
	return false
}

// cookieName is that of the cookie by which a browser is known after the token was given once.
const cookieName = "credence"

// session is what the cookie holds: who knows it has known the token, but it is not the token.
func (s *Server) session() string {
	h := hmac.New(sha256.New, []byte(s.options.Token))
	h.Write([]byte("credence page session"))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// hasSession reports whether a request carries the cookie.
func (s *Server) hasSession(r *http.Request) bool {
	c, err := r.Cookie(cookieName)
	return err == nil && subtle.ConstantTimeCompare([]byte(c.Value), []byte(s.session())) == 1
}

// setCookie gives a cookie that scripts cannot read and other sites cannot have sent, or takes it
// back.
func (s *Server) setCookie(w http.ResponseWriter, r *http.Request, value string, age int) {
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: value, Path: s.options.BasePath + "/", MaxAge: age,
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode})
}

// sessionAge is for how long a browser keeps the cookie, in seconds: thirty days.
const sessionAge = 30 * 24 * 3600

// signIn takes the token and gives the cookie.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request) error {
	var asked struct {
		Token string `json:"token"`
	}
	r.Body = http.MaxBytesReader(w, r.Body, 4096)
	if err := s.decode(w, r, &asked); err != nil {
		return err
	}
	if s.options.Token != "" && !s.isToken(asked.Token) {
		return failf(http.StatusForbidden, "this is not the token of the server")
	}
	s.setCookie(w, r, s.session(), sessionAge)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// isToken compares in constant time, of hashes, so that not even the length shows.
func (s *Server) isToken(given string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(s.options.Token))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// crossSite refuses requests that change something and that a browser sends for another site's page:
// whoever is signed in here, or runs the server without a token, may have such a page open.
var crossSite = http.NewCrossOriginProtection()

func checkSite(r *http.Request) error {
	if err := crossSite.Check(r); err != nil {
		return failf(http.StatusForbidden, "%w", fmt.Errorf("the request comes from a page of another site: %w", err))
	}
	return nil
}
