//go:build labelstudio

package serve

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"credence/internal/python"
)

// labelConfig is the labeling configuration of a project with the model's classes.
const labelConfig = `<View><Text name="age" value="$age"/><Choices name="verdict" toName="age"><Choice value="yes"/><Choice value="no"/></Choices></View>`

// TestLabelStudioItself runs Label Studio with this server as its ML backend. With CREDENCE_RECORD=1 it
// writes the requests of Label Studio to testdata/labelstudio.json, which TestLabelStudioRecorded
// replays.
func TestLabelStudioItself(t *testing.T) {
	interpreter := python.Interpreter(t, "label_studio")
	const token = "only for this test"
	s, err := New(labelStudioOptions(t, token))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var mu sync.Mutex
	var list []recorded
	hs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		list = append(list, recorded{r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"), body})
		mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.Handler().ServeHTTP(w, r)
	}))
	defer hs.Close()
	folder := t.TempDir()
	cmd := exec.Command(interpreter, "testdata/labelstudio.py", hs.URL, token, folder, labelConfig)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(folder, "log"))
		t.Fatalf("%v: %s\n%s", err, &stderr, log[max(0, len(log)-5000):])
	}
	var got struct {
		Version     string
		Versions    []string
		Predictions []struct {
			Score        float64
			ModelVersion string `json:"model_version"`
		}
		Order []string
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	m, _ := s.registry.get("", "")
	if got.Version != m.version || !slices.Equal(got.Versions, []string{m.version}) {
		t.Errorf("Label Studio knows version %s of %v, want %s", got.Version, got.Versions, m.version)
	}
	if len(got.Predictions) != 3 || got.Predictions[0].ModelVersion != m.version {
		t.Errorf("Label Studio has the predictions %+v, want 3", got.Predictions)
	}
	if len(got.Order) != 4 || got.Order[3] != "bad" {
		t.Errorf("items by score are %v", got.Order)
	}
	checkRecordedVotes(t, s)
	if os.Getenv("CREDENCE_RECORD") != "" {
		record(t, list)
	}
}

// record writes requests without details of the machine they were recorded on.
func record(t *testing.T, list []recorded) {
	t.Helper()
	address := regexp.MustCompile(`https?://(127\.0\.0\.1|localhost)(:\d+)?`)
	secret := regexp.MustCompile(`"(access_token|token)": ?"[^"]*"`)
	for i := range list {
		text := address.ReplaceAllString(string(list[i].Body), "http://localhost")
		list[i].Body = []byte(secret.ReplaceAllString(text, `"$1": ""`))
		if len(list[i].Body) == 0 {
			list[i].Body = []byte("null")
		}
	}
	text, err := json.MarshalIndent(list, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "127.0.0.1") {
		t.Fatal("an address is left in the requests")
	}
	if err := os.WriteFile("testdata/labelstudio.json", append(text, '\n'), 0o666); err != nil {
		t.Fatal(err)
	}
}
