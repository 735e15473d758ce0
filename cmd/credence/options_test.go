package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"credence/dataset"
	"credence/internal/config"
	"credence/internal/volume"
	"credence/nn"
)

// Every value of a flag is written so that it reads back the same.
func TestConfigRoundTrip(t *testing.T) {
	args := []string{
		"--data", "a b.csv,2.csv", "--votes", "votes: all.csv", "--classes", `yes,no,1,1e3,"a,b",~,#x`,
		"--classes", "again", "--votes-form", "wide", "--duplicates", "every", "--layout", "CHW",
		"--network", "- {type: dense, out: 8}\n- type: dense", "--widths", "64,32", "--rate", "0.0003",
		"--dropout", "0", "--patience", "0", "--class-weights", "1/3,2", "--seed", "18446744073709551615",
		"--force", "--memory", "1.5GB", "--image-size", "32x64", "--volume-size", "9x8x7",
		"--volume-percentiles", "1,99", "--augment", "shift=2,flip", "--test", "0.25",
	}
	parse := func(args ...string) *config.Settings {
		s := config.New()
		f := pflag.NewFlagSet("train", pflag.ContinueOnError)
		declare(f, s, config.Train)
		if err := f.Parse(args); err != nil {
			t.Fatal(err)
		}
		return s
	}
	want := parse(args...)
	var text bytes.Buffer
	if err := want.WriteRecord(&text); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	got := parse()
	if err := got.File(path); err != nil {
		t.Fatalf("%v in\n%s", err, &text)
	}
	if !reflect.DeepEqual(got.Load, want.Load) || !reflect.DeepEqual(got.Fit, want.Fit) || got.Test != want.Test {
		t.Errorf("read\n%+v\n%+v\nwant\n%+v\n%+v\nfrom\n%s", got.Load, got.Fit, want.Load, want.Fit, &text)
	}
	if got.Fit.Patience != -1 || got.Fit.Dropout != -1 || len(got.Load.VotesOptions.Classes) != 8 {
		t.Errorf("read %+v, classes %q", got.Fit, got.Load.VotesOptions.Classes)
	}
}

// Every choice in the table is one that the libraries accept, and the help
// mentions each of them.
func TestChoices(t *testing.T) {
	for _, o := range config.Options {
		for _, c := range o.Choices {
			if !strings.Contains(o.Help, c) {
				t.Errorf("the help of --%s does not mention %q", o.Name, c)
			}
			s := config.New()
			if err := s.Field(o).Set(c); err != nil || s.Field(o).String() != c {
				t.Errorf("--%s %s: %v, read as %s", o.Name, c, err, s.Field(o))
			}
			var err error
			switch o.Name {
			case "votes-form":
				if form := s.Load.VotesOptions.Form.String(); form != c {
					t.Errorf("--votes-form %s is taken for %s", c, form)
				}
			case "duplicates":
				if s.Load.VotesOptions.Duplicates != map[string]dataset.Duplicates{"last": dataset.LastVote,
					"first": dataset.FirstVote, "every": dataset.EveryVote, "refuse": dataset.RefuseSecond}[c] {
					t.Errorf("--duplicates %s is taken for %v", c, s.Load.VotesOptions.Duplicates)
				}
			case "layout":
				if !slices.Contains([]dataset.Layout{dataset.Vector, dataset.HW, dataset.CHW, dataset.HWC,
					dataset.DHW, dataset.CDHW, dataset.DHWC}, s.Load.FeatureOptions.Layout) {
					t.Errorf("layout %q is unknown", c)
				}
			case "volume-fit":
				if c != string(volume.Stretch) && c != string(volume.Proportions) {
					t.Errorf("fit %q of volumes is unknown", c)
				}
			case "volume-scale":
				_, err = volume.Normalization{Scale: volume.Scale(c), Low: 0.5, High: 99.5}.Complete()
			case "backbone-pool", "backbone-filter", "backbone-layout": // the lists of package backbone itself
			case "volume-store": // the script of volumes tries all
			case "optimizer":
				_, err = nn.OptimizerOptions{Kind: c, Rate: 0.1}.Complete()
			case "init":
				network(t, nn.Init(c))
			case "method":
				err = (&trainOptions{Settings: *s}).readMethod()
			case "calibrate": // TestFitCalibrates of package train tries both
			case "population": // the script of population tries both
			case "raters": // TestRatersAuto and TestRatersAlike of package train try all
			case "trees": // the script of trees tries all
			case "normal-scores":
				_, err = dataset.Fit(&dataset.Dataset{Items: []string{"a"}, Features: []dataset.Feature{{Name: "x"}}, Rows: &dataset.Memory{N: 1, W: 1, Values: []float32{1}}}, []int{0}, dataset.TransformOptions{Scores: c})
			case "schedule": // the script of credence config tries both
			default:
				t.Errorf("nothing here checks the choices of --%s", o.Name)
			}
			if err != nil {
				t.Error(err)
			}
		}
	}
}

func network(t *testing.T, init nn.Init) *nn.Network {
	t.Helper()
	net, err := nn.New(nn.Seq(&nn.Dense{Out: 2}), nn.Shape{3}, nn.Options{Init: init})
	if err != nil {
		t.Fatal(err)
	}
	return net
}
