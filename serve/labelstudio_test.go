package serve

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorded is a request that Label Studio sent.
type recorded struct {
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Kind   string          `json:"kind"`
	Body   json.RawMessage `json:"body"`
}

// labelStudioOptions returns options to serve a model of people and accept votes.
func labelStudioOptions(t *testing.T, token string) Options {
	o := Options{Path: filepath.Join(t.TempDir(), "first"), Votes: filepath.Join(t.TempDir(), "votes.csv"), Token: token}
	save(t, fitted()[0], o.Path)
	return o
}

// TestLabelStudioRecorded replays the requests that Label Studio sent while labeling with this server; see
// TestLabelStudioItself.
func TestLabelStudioRecorded(t *testing.T) {
	text, err := os.ReadFile("testdata/labelstudio.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []recorded
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	s, url := start(t, labelStudioOptions(t, ""))
	m, _ := s.registry.get("", "")
	predicted := 0
	for _, r := range list {
		body := string(r.Body)
		if body == "null" {
			body = ""
		}
		status, _, text := ask(t, r.Method, url+r.Path, r.Kind, body)
		if status != 200 && status != 201 {
			t.Errorf("%s %s: %d %s", r.Method, r.Path, status, text)
		}
		switch r.Path {
		case "/setup":
			if !strings.Contains(text, m.version) {
				t.Error(text)
			}
		case "/predict":
			var got struct{ Results []json.RawMessage }
			if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Results) != 4 || string(got.Results[3]) != "[]" {
				t.Errorf("%v: %s", err, text)
			}
			predicted++
			var p suggestion
			if err := json.Unmarshal(got.Results[0], &p); err != nil || p.Result[0].FromName != "verdict" || !(p.Score > 0 && p.Score < 1) {
				t.Errorf("%v: %s", err, text)
			}
		}
	}
	if predicted == 0 {
		t.Error("nothing was predicted")
	}
	checkRecordedVotes(t, s)
}

// checkRecordedVotes compares the votes with what was labeled: three annotations, of which one was
// changed and one deleted.
func checkRecordedVotes(t *testing.T, s *Server) {
	t.Helper()
	var got []string
	rater := ""
	for _, v := range s.votes.Votes(0) {
		if rater == "" {
			rater = v.Rater
		}
		if v.Rater != rater {
			t.Errorf("a vote by %q, another by %q", v.Rater, rater)
		}
		got = append(got, v.Item+"="+v.Label)
	}
	if want := "p0=yes p1=no p2=yes p1=yes p2="; strings.Join(got, " ") != want {
		t.Errorf("the votes are %v, want %s", got, want)
	}
}

func TestLabelStudio(t *testing.T) {
	_, url := start(t, Options{})
	config := `<View><Text name='t' value='$age'/><Choices name='verdict' toName='t'><Choice value='yes'/><Choice value='no'/></Choices></View>`
	_, _, text := ask(t, "POST", url+"/setup", asJSON, `{"project":"1.2","schema":"`+config+`","hostname":"http://x"}`)
	if !strings.Contains(text, "model_version") {
		t.Error(text)
	}
	_, _, text = ask(t, "POST", url+"/predict", asJSON, `{"tasks":[{"id":1,"data":{"age":30,"sex":"f"}},{"id":2,"data":{"age":"x","sex":"f"}}],"label_config":"`+config+`"}`)
	var got struct{ Results []json.RawMessage }
	if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Results) != 2 {
		t.Fatal(err, text)
	}
	var r suggestion
	if err := json.Unmarshal(got.Results[0], &r); err != nil {
		t.Fatal(err, text)
	}
	if len(r.Result) != 1 || r.Result[0].FromName != "verdict" || r.Result[0].ToName != "t" || !(r.Score > 0 && r.Score < 1) || r.ModelVersion == "" {
		t.Error(text)
	}
	if string(got.Results[1]) != "[]" {
		t.Error("a task that cannot be predicted has a prediction:", text)
	}
	if _, _, text := ask(t, "GET", url+"/health", "", ""); !strings.Contains(text, "UP") {
		t.Error(text)
	}
}
