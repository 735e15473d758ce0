package model

import (
	"bytes"
	"context"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"credence/dataset"
	"credence/head"
	"credence/nn"
)

// labelModels returns a model of two random networks with dropout for each method.
func labelModels(t testing.TB) []*Model {
	t.Helper()
	var list []*Model
	for _, method := range head.Methods[1:] {
		m := small(t)
		m.Method, m.Calibration, m.Members = head.Complete(method), nil, nil
		r, err := m.Head()
		if err != nil {
			t.Fatal(err)
		}
		layers := nn.Seq(&nn.Dense{Out: 5}, &nn.BatchNorm{}, &nn.ReLU{}, &nn.Dropout{Rate: 0.3}, &nn.Dense{Out: r.Outputs()})
		for i := range uint64(2) {
			member, err := nn.New(layers, InputShape(m.Transform), nn.Options{Seed: 1, Member: i})
			if err != nil {
				t.Fatal(err)
			}
			m.Members = append(m.Members, member)
		}
		list = append(list, m)
	}
	return list
}

// TestMethods: models of every method survive a file, give every item the same
// bits wherever it stands and on any number of cores, and know no
// distribution to update.
func TestMethods(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	ds := items(23)
	for _, m := range labelModels(t) {
		kind := m.Method.Name()
		var file bytes.Buffer
		if err := m.Encode(&file); err != nil {
			t.Fatal(err)
		}
		again, err := Decode(&file, int64(file.Len()))
		if err != nil {
			t.Fatal(err)
		}
		want, err := m.Predict(context.Background(), ds, PredictOptions{})
		if err != nil || len(want) != 23 {
			t.Fatalf("%s: %d answers, %v", kind, len(want), err)
		}
		for _, threads := range []int{1, 2, 3} {
			runtime.GOMAXPROCS(threads)
			got, err := again.Predict(context.Background(), ds, PredictOptions{BatchValues: 4 * threads * m.itemSize()})
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: in batches of %d: %v, %+v, want %+v", kind, 4*threads, err, got, want)
			}
		}
		if kind == "dropout" && want[0].Variance[0] == 0 {
			t.Error("passes with dropout are all alike")
		}
		m.Members[1].Values[0] = float32(math.NaN())
		if _, err := m.Predict(context.Background(), ds, PredictOptions{}); err == nil || !strings.Contains(err.Error(), "outputs of the network, found NaN") {
			t.Errorf("%s: a network with NaN: %v", kind, err)
		}
	}
	if _, err := labelModels(t)[0].Predict(context.Background(), &dataset.Dataset{Items: []string{"a"}, Rows: &dataset.Memory{N: 1}}, PredictOptions{}); err == nil {
		t.Error("items without features are predicted")
	}
}
