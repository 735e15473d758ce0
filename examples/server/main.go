// Command server embeds the server of models in a program of its own, next to other routes, and asks it for a prediction.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"credence/dataset"
	"credence/serve"
	"credence/train"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "server")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := trainModel(ctx, filepath.Join(dir, "nodules", "model.credence")); err != nil {
		return err
	}
	models, err := serve.New(serve.Options{Path: dir, BasePath: "/models"})
	if err != nil {
		return err
	}
	defer models.Close()
	mux := http.NewServeMux()
	mux.Handle("/models/", models.Handler())
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "a page of our own") })
	server := httptest.NewServer(mux) // in practice http.ListenAndServe
	defer server.Close()

	response, err := http.Post(server.URL+"/models/api/v1/models/nodules/predict", "application/json",
		strings.NewReader(`{"items": [{"item": "n1", "size": 35}], "outputs": ["predicted"]}`))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var answer struct {
		Predictions []struct{ Item, Predicted string }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return err
	}
	fmt.Println(response.Status, answer.Predictions)
	return nil
}

// trainModel trains a small model and saves it.
func trainModel(ctx context.Context, path string) error {
	ds := &dataset.Dataset{Classes: []string{"benign", "malignant"}, Features: []dataset.Feature{{Name: "size", Kind: dataset.Numeric}}}
	rows := &dataset.Memory{N: 40, W: 1}
	for i := range 40 {
		ds.Items = append(ds.Items, fmt.Sprint("nodule ", i))
		rows.Values = append(rows.Values, float32(i))
		malignant := float32(min(max((i-10)/7, 0), 3))
		ds.Counts = append(ds.Counts, 3-malignant, malignant)
	}
	ds.Rows = rows
	trained, err := train.Fit(ctx, ds, train.Options{Epochs: 40, Ensemble: 2, Seed: 1})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return trained.Model.Save(path)
}
