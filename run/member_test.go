package run

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"credence/train"
)

// TestMembers: members trained apart and joined leave the files of one run; two processes with one
// rank never mix; a member that was stopped continues, and one that has ended is not changed.
func TestMembers(t *testing.T) {
	dir := t.TempDir()
	d, err := Divide(plane(80), 0, 0.25, 1)
	if err != nil {
		t.Fatal(err)
	}
	one, out := Folder(filepath.Join(dir, "one")), Folder(filepath.Join(dir, "many"))
	trained(t, one, d, Options{Fit: quick(), Config: writeConfig})
	const first, second = 0, 1

	ctx, cancel := context.WithCancel(context.Background())
	tried := false
	o := Options{Fit: quick(), Config: writeConfig}
	o.Fit.Progress = func(train.Event) {
		defer cancel()
		if tried {
			return
		}
		tried = true
		for _, mode := range []Mode{New, Overwrite} {
			if _, err := TrainMember(context.Background(), out, first, d, Options{Mode: mode, Fit: quick(), Config: writeConfig}); !errors.Is(err, ErrInUse) {
				t.Errorf("a second process with the same rank: %v", err)
			}
		}
		if _, err := ReadMembers(out); !errors.Is(err, ErrInUse) {
			t.Errorf("joined while a member is trained: %v", err)
		}
	}
	if _, err := TrainMember(ctx, out, first, d, o); !errors.Is(err, train.ErrStopped) || !tried {
		t.Fatalf("stopped: %v", err)
	}
	if _, err := ReadMembers(out); !errors.Is(err, ErrJoin) || !strings.Contains(err.Error(), "member-0 has not ended") {
		t.Errorf("a member that was stopped: %v", err)
	}
	o.Fit.Progress = nil
	for _, member := range []int{second, first} {
		if done, err := TrainMember(t.Context(), out, member, d, o); done || err != nil {
			t.Fatal(done, err)
		}
	}
	if done, err := TrainMember(t.Context(), out, first, d, o); !done || err != nil {
		t.Errorf("again: %v, %v", done, err)
	}
	other := o
	other.Fit.Seed = 2
	if _, err := TrainMember(t.Context(), out, first, d, other); !errors.Is(err, train.ErrOtherRun) {
		t.Errorf("again with another seed: %v", err)
	}
	o.Mode = Join
	if o.Fit.Members, err = ReadMembers(out); err != nil {
		t.Fatal(err)
	}
	if done, err := Joined(out, o.Fit.Members); done || err != nil {
		t.Error("joined before it is", err)
	}
	trained(t, out, d, o)
	if done, err := Joined(out, o.Fit.Members); !done || err != nil {
		t.Error("not joined", err)
	}
	for _, name := range []string{ModelFile, MetricsFile, HistoryFile, ReportFile, ConfigFile, splitFile} {
		if !bytes.Equal(read(t, one, name), read(t, out, name)) {
			t.Errorf("%s differs", name)
		}
	}
	if _, err := Train(t.Context(), out, d, o); !errors.Is(err, ErrEnded) {
		t.Errorf("joined again: %v", err)
	}
}

// TestReadMembers: for results that do not make a run, the error names them.
func TestReadMembers(t *testing.T) {
	dir := t.TempDir()
	d := &Partition{Items: plane(80), Learn: plane(80)}
	out := Folder(filepath.Join(dir, "out"))
	refused := func(want string) {
		t.Helper()
		if _, err := ReadMembers(out); !errors.Is(err, ErrJoin) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	member := func(i, n int, fit train.Options) {
		t.Helper()
		fit.Ensemble = n
		if _, err := TrainMember(t.Context(), out, i, d, Options{Mode: Overwrite, Fit: fit, Config: writeConfig}); err != nil {
			t.Fatal(err)
		}
	}
	os.MkdirAll(string(out), 0o755)
	refused("contains no members")
	member(0, 3, quick())
	member(2, 3, quick())
	refused("1 of 3 members are missing: " + string(out.Member(1)))
	member(1, 2, quick())
	refused("member-1 is member 1 of 2, but " + string(out.Member(0)) + " is one of 3")
	older := quick()
	older.Version = "0.0"
	member(1, 3, older)
	refused("member-1 and " + string(out.Member(0)) + " belong to different runs: the member belongs to another run: trained by version 0.0")
	foreign := quick()
	foreign.Seed = 9
	member(0, 3, foreign)
	member(1, 3, quick())
	refused("member-0 and " + string(out.Member(1)) + " belong to different runs: the member belongs to another run: the configuration differs: seed is 1, then 9")
	member(0, 3, quick())
	if _, err := ReadMembers(out); err != nil {
		t.Error(err)
	}

	// A bit that flips in the configuration of any member is found; results of builds that did not record it still join.
	config := read(t, out.Member(2), ConfigFile)
	flipped := bytes.Clone(config)
	flipped[len(flipped)/2] ^= 1
	os.WriteFile(out.Member(2).Path(ConfigFile), flipped, 0o644)
	refused(out.Member(2).Path(ConfigFile) + " has changed since the member was trained")
	if _, err := TrainMember(t.Context(), out, 2, d, Options{Fit: quick(), Config: writeConfig}); !errors.Is(err, ErrJoin) {
		t.Errorf("a member whose configuration changed: %v", err)
	}
	old, err := train.ReadMemberResult(out.Member(2).Path(memberFile))
	if err != nil {
		t.Fatal(err)
	}
	sum := old.ConfigSum
	old.ConfigSum = ""
	old.Write(out.Member(2).Path(memberFile))
	if _, err := ReadMembers(out); err != nil {
		t.Errorf("a part without the sum of its configuration: %v", err)
	}
	old.ConfigSum = sum
	old.Write(out.Member(2).Path(memberFile))
	os.Remove(out.Member(2).Path(ConfigFile))
	refused("reading " + out.Member(2).Path(ConfigFile) + ": " + syscall.ENOENT.Error())
	os.WriteFile(out.Member(2).Path(ConfigFile), config, 0o644)

	part := read(t, out.Member(0), memberFile)
	os.WriteFile(out.Member(1).Path(memberFile), part, 0o644)
	refused("member-1 contains member 0, expected in member-0")
	os.WriteFile(out.Member(1).Path(memberFile), part[:len(part)-1], 0o644)
	refused("networks.part: the file is truncated")
	os.Remove(out.Member(1).Path(memberFile))
	refused("member-1 has not ended")
	os.RemoveAll(string(out.Member(1)))
	os.Mkdir(out.Path("member-01"), 0o755)
	refused("member-01: expected names such as member-0")
}
