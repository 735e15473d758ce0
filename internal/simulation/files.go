package simulation

import (
	"encoding/csv"
	"io"
	"path/filepath"
	"strconv"

	"credence/internal/atomicfile"
)

// WriteFiles writes a sample as the CSV files that credence reads, items, votes
// and, if requested, the truth, with names that begin with prefix.
func (s *Simulation) WriteFiles(folder, prefix string, truth bool) error {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	items, votes, p := [][]string{{"item", "x1", "x2"}}, [][]string{{"item", "label"}}, [][]string{{"item", "0", "1"}}
	for i, x := range s.X {
		id := strconv.Itoa(i)
		items = append(items, []string{id, number(float64(float32(x[0]))), number(float64(float32(x[1])))})
		p = append(p, []string{id, number(s.P[i]), number(1 - s.P[i])})
		for class, n := range s.Votes[i] {
			for range n {
				votes = append(votes, []string{id, strconv.Itoa(class)})
			}
		}
	}
	files := []struct {
		name string
		rows [][]string
	}{{"items", items}, {"votes", votes}, {"truth", p}}
	if !truth {
		files = files[:2]
	}
	for _, f := range files {
		err := atomicfile.Write(filepath.Join(folder, prefix+f.name+".csv"), func(w io.Writer) error {
			return csv.NewWriter(w).WriteAll(f.rows)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
