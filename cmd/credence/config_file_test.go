package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"credence/baseline"
	"credence/nn"
	"credence/train"
)

// Whatever a flag can hold is written so that it reads back the same.
func TestConfigRoundTrip(t *testing.T) {
	args := []string{
		"--data", "a b.csv,2.csv", "--votes", "votes: all.csv", "--classes", `yes,no,1,1e3,"a,b",~,#x`,
		"--network", "- {type: dense, out: 8}\n- type: dense", "--widths", "64,32", "--rate", "0.0003",
		"--dropout", "0", "--class-weights", "1/3,2", "--seed", "18446744073709551615", "--force", "--memory", "1.5GB",
	}
	declare := func() (*pflag.FlagSet, *trainOptions) {
		o := &trainOptions{}
		f := pflag.NewFlagSet("train", pflag.ContinueOnError)
		o.declare(f)
		return f, o
	}
	f, want := declare()
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := writeConfig(&text, f); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	f, got := declare()
	if _, err := settleFlags(f, path, false); err != nil {
		t.Fatalf("%v in\n%s", err, &text)
	}
	if !reflect.DeepEqual(got.data, want.data) || !reflect.DeepEqual(got.fit.options(), want.fit.options()) {
		t.Errorf("read\n%+v\n%+v\nwant\n%+v\n%+v\nfrom\n%s", got.data, got.fit.options(), want.data, want.fit.options(), &text)
	}
}

// Every choice that the schema names is one that the readers take, and the
// usage tells of each.
func TestFlagChoices(t *testing.T) {
	f := newTrain().Flags()
	for name, choices := range flagChoices {
		flag := f.Lookup(name)
		if flag == nil {
			t.Errorf("there is no flag --%s", name)
			continue
		}
		for _, c := range choices {
			if !strings.Contains(flag.Usage, c) {
				t.Errorf("the usage of --%s does not tell of %q", name, c)
			}
			d := dataFlags{form: "auto", duplicates: "last"}
			var err error
			switch name {
			case "votes-form":
				d.form = c
				_, err = d.votesOptions()
			case "duplicates":
				d.duplicates = c
				_, err = d.votesOptions()
			case "layout":
				d.layout = c
				_, err = d.featureOptions()
			case "volume-fit":
				d.volume.fit = c
				_, err = d.featureOptions()
			case "volume-scale":
				d.volume.scale = c
				_, err = d.featureOptions()
			case "volume-store":
				d.volume.store = c
				_, err = d.featureOptions()
			case "optimizer":
				_, err = nn.NewOptimizer(network(t, nn.He), nn.OptimizerOptions{Kind: c, Rate: 0.1})
			case "init":
				network(t, nn.Init(c))
			case "method":
				o := fitFlags{flags: f, method: c}
				if err = o.readMethod(); err == nil && c != string(train.Mixture) && !baseline.Method(c).Known() {
					t.Errorf("method %q is unknown", c)
				}
			case "schedule": // the script of credence config tries both
			default:
				t.Errorf("nothing here checks the choices of --%s", name)
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

func TestByteSize(t *testing.T) {
	for text, want := range map[string]byteSize{"500MB": 5e8, "2GB": 2e9, "1.5 GB": 15e8, "1024": 1024, "3kB": 3000} {
		var b byteSize
		if err := b.Set(text); err != nil || b != want {
			t.Errorf("%q: %d, %v, want %d", text, b, err, want)
		}
		var again byteSize
		if err := again.Set(b.String()); err != nil || again != b {
			t.Errorf("%q reads back as %d, %v", b.String(), again, err)
		}
	}
	for _, text := range []string{"", "many", "-1GB", "1XB", "1e30"} {
		if err := new(byteSize).Set(text); err == nil {
			t.Errorf("%q was taken for a size", text)
		}
	}
}
