package main

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// makeCollections writes the data of makedata in the formats of collections: train.json, of
// the first half, dev.json, of all but the last tenth of the second, and test.json as sets of
// LeWiDi, whose items are numbered from 1 each; studio.json, an export of Label Studio of all
// items; min.json, its short form; items.jsonl and votes.jsonl, tables as JSON; and
// book.xlsx, a workbook with the sheets About, Items and Votes:
//
//	makecollections 200
func makeCollections(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: makecollections items")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	itemText, voteText := smallData(n)
	read := func(text string) [][]string {
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		ts.Check(err)
		return rows
	}
	items, votes := read(itemText), read(voteText)
	write := func(name string, content []byte) { ts.Check(os.WriteFile(ts.MkAbs(name), content, 0o644)) }
	asJSON := func(name string, v any) {
		text, err := json.MarshalIndent(v, "", "  ")
		ts.Check(err)
		write(name, text)
	}
	half, rest := n/2, n-n/10
	asJSON("train.json", lewidiSet(items[1:1+half], votes[1:1+3*half], "train"))
	asJSON("dev.json", lewidiSet(items[1+half:1+rest], votes[1+3*half:1+3*rest], "dev"))
	asJSON("test.json", lewidiSet(items[1+rest:], votes[1+3*rest:], "test"))
	tasks, minimal := studioTasks(items[1:], votes[1:])
	asJSON("studio.json", tasks)
	write("min.json", []byte("["+strings.Join(minimal, ",\n")+"]\n"))
	for name, rows := range map[string][][]string{"items.jsonl": items, "votes.jsonl": votes} {
		var b bytes.Buffer
		for _, row := range rows[1:] {
			record := map[string]any{}
			for i, text := range row {
				record[rows[0][i]] = text
				if x, err := strconv.ParseFloat(text, 64); err == nil {
					record[rows[0][i]] = x
				}
			}
			ts.Check(json.NewEncoder(&b).Encode(record))
		}
		write(name, b.Bytes())
	}
	about := [][]string{{"This workbook has items and votes."}}
	write("book.xlsx", workbookOf(ts, []string{"About", "Items", "Votes"}, [][][]string{about, items, votes}))
}

// lewidiSet returns items, three votes on each, as a set of LeWiDi.
func lewidiSet(items, votes [][]string, split string) map[string]any {
	set := map[string]any{}
	for j, item := range items {
		var labels, raters []string
		yes := 0.0
		for _, v := range votes[3*j : 3*j+3] {
			labels, raters = append(labels, map[string]string{"no": "0", "yes": "1"}[v[2]]), append(raters, v[1])
			if v[2] == "yes" {
				yes += 1.0 / 3
			}
		}
		set[strconv.Itoa(j+1)] = map[string]any{
			"text": "somebody wrote from the " + item[3] + " of it", "annotation task": "a", "number of annotations": 3,
			"annotations": strings.Join(labels, ","), "annotators": strings.Join(raters, ","), "lang": "en", "split": split,
			"hard_label": labels[0], "soft_label": map[string]float64{"0": 1 - yes, "1": yes}, "x": number(item[1]),
			"other_info": map[string]any{"site": item[3], "other annotations": map[string]any{"offence": strings.Join(labels, ",")}},
		}
	}
	return set
}

func number(text string) float64 {
	x, _ := strconv.ParseFloat(text, 64)
	return x
}

// studioTasks returns items, three votes on each, as tasks of Label Studio, and as
// annotations of its short form.
func studioTasks(items, votes [][]string) (tasks []any, minimal []string) {
	for j, item := range items {
		data := map[string]any{"x": number(item[1]), "site": item[3]}
		var annotations []any
		for k, v := range votes[3*j : 3*j+3] {
			result := []any{map[string]any{"from_name": "verdict", "to_name": "x", "type": "choices", "value": map[string]any{"choices": []string{v[2]}}},
				map[string]any{"from_name": "quality", "type": "rating", "value": map[string]any{"rating": 1 + k}}}
			annotations = append(annotations, map[string]any{"id": 10*j + k, "completed_by": k, "was_cancelled": false, "result": result})
			minimal = append(minimal, fmt.Sprintf(`{"x": %s, "site": %q, "id": %d, "verdict": %q, "annotator": %d, "annotation_id": %d, "lead_time": %d.5}`, item[1], item[3], j, v[2], k, 10*j+k, k))
		}
		annotations = append(annotations, map[string]any{"id": 10*j + 9, "completed_by": 9, "was_cancelled": true, "result": []any{}})
		tasks = append(tasks, map[string]any{"id": j, "data": data, "annotations": annotations, "predictions": []any{}})
	}
	return tasks, minimal
}

// workbookOf returns a workbook with a sheet for each table, with its texts in the cells.
func workbookOf(ts *testscript.TestScript, names []string, tables [][][]string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	write := func(name, text string) {
		w, err := z.Create(name)
		ts.Check(err)
		_, err = w.Write([]byte(text))
		ts.Check(err)
	}
	var sheets, links strings.Builder
	for k, name := range names {
		fmt.Fprintf(&sheets, `<sheet name="%s" sheetId="%d" r:id="r%d"/>`, name, k+1, k+1)
		fmt.Fprintf(&links, `<Relationship Id="r%d" Type="http://x/worksheet" Target="worksheets/sheet%d.xml"/>`, k+1, k+1)
		var cells strings.Builder
		for _, row := range tables[k] {
			cells.WriteString("<row>")
			for _, text := range row {
				if _, err := strconv.ParseFloat(text, 64); err == nil {
					fmt.Fprintf(&cells, "<c><v>%s</v></c>", text)
				} else {
					fmt.Fprintf(&cells, `<c t="inlineStr"><is><t>%s</t></is></c>`, text)
				}
			}
			cells.WriteString("</row>")
		}
		write(fmt.Sprintf("xl/worksheets/sheet%d.xml", k+1), "<worksheet><sheetData>"+cells.String()+"</sheetData></worksheet>")
	}
	write("xl/workbook.xml", `<workbook xmlns:r="r"><sheets>`+sheets.String()+"</sheets></workbook>")
	write("xl/_rels/workbook.xml.rels", "<Relationships>"+links.String()+"</Relationships>")
	ts.Check(z.Close())
	return b.Bytes()
}
