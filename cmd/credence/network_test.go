package main

import (
	"strings"
	"testing"

	"credence/nn"
)

// The examples of the help on layers are read and make networks.
func TestNetworkHelp(t *testing.T) {
	topic, _, err := newRoot().Find([]string{"network"})
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	var block strings.Builder
	for line := range strings.Lines(topic.Long + "\n\n") {
		switch {
		case strings.HasPrefix(line, "  - "), block.Len() > 0 && strings.HasPrefix(line, "    "):
			block.WriteString(line[2:])
		case block.Len() > 0:
			blocks = append(blocks, block.String())
			block.Reset()
		}
	}
	shapes := []nn.Shape{{7}, {3, 16, 16}, {5 + 28*28}}
	if len(blocks) != len(shapes) {
		t.Fatalf("%d examples, want %d: %q", len(blocks), len(shapes), blocks)
	}
	for i, text := range blocks {
		layers, err := nn.Parse([]byte(text), 6)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		n, err := nn.New(layers, shapes[i], nn.Options{})
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if n.Out.Size() != 6 {
			t.Errorf("%d outputs of\n%s", n.Out.Size(), text)
		}
	}
}
