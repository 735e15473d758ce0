package main

import (
	"math"
	"testing"
	"time"

	"credence/train"
)

func TestDescribeEvent(t *testing.T) {
	running := train.Event{Run: "member 1", Index: 1, Runs: 5, Epoch: 17, Epochs: 500, Done: 0.4, Loss: 0.5123,
		HeldOut: 0.5301, Best: 12, Speed: 8120, Left: 80 * time.Second, AtMost: true}
	first := train.Event{Run: "refit", Runs: 1, Epochs: 30, Loss: math.NaN(), HeldOut: math.NaN(), Left: time.Minute}
	ended := train.Event{Run: "fold 3", Runs: 1, Epoch: 9, Epochs: 30, Loss: 0.5, HeldOut: math.NaN(), Speed: 9,
		Left: time.Second, Note: "recovered", End: true}
	for _, c := range []struct {
		event train.Event
		short bool
		want  string
	}{
		{running, false, "member 1 (2 of 5)  epoch 17.4/500  loss 0.5123  held out 0.5301 (best at 12)  8,120 items/s  at most 1m20s left"},
		{running, true, "2/5 epoch 17.4/500 loss 0.5123 held out 0.5301 8,120 items/s 1m20s left"},
		{first, false, "refit  epoch 0/30  about 1m0s left"},
		{first, true, "epoch 0.0/30 1m0s left"},
		{ended, false, "fold 3  epoch 9/30  loss 0.5000  ended  recovered"},
	} {
		if got := describeEvent(c.event, c.short); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
