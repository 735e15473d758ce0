package train_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"credence/dataset"
	"credence/mixture"
	"credence/model"
	"credence/train"
)

// From files to intervals: the features and votes of forty nodules are read, a
// model is fitted and saved, and a new nodule is predicted by it.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	write := func(name string, lines ...string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			log.Fatal(err)
		}
		return path
	}
	items, votes := []string{"item,size"}, []string{"item,label"}
	for i := range 40 {
		items = append(items, fmt.Sprintf("nodule %d,%d", i, i))
		for reader := range 3 { // the larger a nodule, the more of the three say malignant
			label := "benign"
			if i > 8+10*reader {
				label = "malignant"
			}
			votes = append(votes, fmt.Sprintf("nodule %d,%s", i, label))
		}
	}

	ds, err := dataset.Load(context.Background(), dataset.LoadOptions{Data: []string{write("items.csv", items...)}, Votes: []string{write("votes.csv", votes...)}})
	if err != nil {
		log.Fatal(err)
	}
	defer ds.Close()
	res, err := train.Fit(context.Background(), ds, train.Options{Epochs: 60, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	path := filepath.Join(dir, "model.credence")
	if err := res.Model.Save(path); err != nil {
		log.Fatal(err)
	}

	m, err := model.Load(path)
	if err != nil {
		log.Fatal(err)
	}
	fresh, err := dataset.Load(context.Background(), dataset.LoadOptions{Data: []string{write("new.csv", "item,size", "new nodule,37")}, NoVotes: true})
	if err != nil {
		log.Fatal(err)
	}
	defer fresh.Close()
	predicted, err := m.Predict(context.Background(), fresh, model.PredictOptions{})
	if err != nil {
		log.Fatal(err)
	}
	malignant := predicted[0].Reported().Class(1)
	in := malignant.Interval(mixture.TwoSided, 0.95)
	fmt.Printf("%s: %s with probability %.2f, 95%% interval %.2f to %.2f\n", fresh.Items[0], m.Classes[1], malignant.Dist.Mean(), in.Lo, in.Hi)
	// Output: new nodule: malignant with probability 0.95, 95% interval 0.76 to 1.00
}
