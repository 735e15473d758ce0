package serve

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkHandler measures a request without the network, with one row and with a thousand.
func BenchmarkHandler(b *testing.B) {
	s, _ := start(b, Options{})
	row := `[30,"f"]`
	for name, c := range map[string]struct{ path, body string }{
		"mlflow/rows=1":    {"/invocations", `{"instances":[` + row + `]}`},
		"mlflow/rows=1000": {"/invocations", `{"instances":[` + strings.Repeat(row+",", 999) + row + `]}`},
		"v2/rows=1":        {"/v2/models/first/infer", `{"inputs":[{"name":"age","shape":[1],"datatype":"FP64","data":[30]},{"name":"sex","shape":[1],"datatype":"BYTES","data":["f"]}]}`},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest("POST", c.path, strings.NewReader(c.body))
				r.Host = "localhost"
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				s.Handler().ServeHTTP(w, r)
				if w.Code != 200 {
					b.Fatal(w.Body)
				}
			}
		})
	}
}

// BenchmarkServer measures requests over the loopback device, with 64 connections.
func BenchmarkServer(b *testing.B) {
	_, url := start(b, Options{})
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			resp, err := client.Post(url+"/invocations", "application/json", strings.NewReader(`{"instances":[[30,"f"]]}`))
			if err != nil {
				b.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	})
}
