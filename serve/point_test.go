package serve

import (
	"strings"
	"testing"
)

// TestPoint: the optimum of a score is an output on request, by the parameter that names the score.
func TestPoint(t *testing.T) {
	_, url := start(t, Options{})
	const item = `{"items":[{"age":30,"sex":"f"}]}`
	for name, c := range map[string]struct {
		path, body string
		status     int
		want       string
	}{
		"json":     {predictPath + "?point=manhattan&votes_expected=3", item, 200, `"point`},
		"csv":      {predictPath + "?point=zero-one&format=csv", item, 200, ",point,"},
		"lines":    {predictPath + "?point=mean&format=jsonl", item, 200, `"point_`},
		"absent":   {predictPath, item, 200, `"mean`},
		"outputs":  {predictPath + "?point=mean", `{"items":[{"age":30,"sex":"f"}],"outputs":["mean","point"]}`, 200, `"point`},
		"no score": {predictPath, `{"items":[{"age":30,"sex":"f"}],"outputs":["point"]}`, 400, "expected the parameter point"},
		"score":    {predictPath + "?point=emd", item, 400, "one of wasserstein, manhattan"},
		"votes":    {predictPath + "?point=mean&votes_expected=x", item, 400, "expected a number of votes"},
		"many":     {predictPath + "?point=mean&votes_expected=20000", item, 400, "expected at most 1,000 votes"},
		"alone":    {predictPath + "?votes_expected=3", item, 400, "expected the parameter point with it"},
		"protocol": {"/v2/models/first/infer", `{"parameters":{"point":"wasserstein","votes_expected":3},"inputs":[{"name":"age","shape":[1],"datatype":"FP64","data":[1]},{"name":"sex","shape":[1],"datatype":"BYTES","data":["f"]}],"outputs":[{"name":"point"}]}`, 200, `"name":"point"`},
	} {
		status, _, text := ask(t, "POST", url+c.path, asJSON, c.body)
		if status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s: status %d, %s; expected %d and %q", name, status, text, c.status, c.want)
		}
		if name == "absent" && strings.Contains(text, "point") {
			t.Errorf("found a point that was not requested: %s", text)
		}
	}
}
