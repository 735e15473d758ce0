package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"credence/model"
	"credence/train"
)

// memberFile is the file with the result of a member, in its folder once it is trained.
const memberFile = "networks.part"

// memberPrefix is the prefix of the names of members' folders.
const memberPrefix = "member-"

// ErrJoin is the error when member results cannot be joined: one is missing, has not ended, is
// duplicated or belongs to another run. The message names it.
var ErrJoin = errors.New("the members cannot be joined")

// ErrIncomplete is the error when members are missing or have not ended yet. It is also an ErrJoin.
var ErrIncomplete = fmt.Errorf("%w", ErrJoin)

// Member returns the folder of one member of the ensemble of a run, from 0.
func (f Folder) Member(i int) Folder { return Folder(f.Path(memberPrefix + strconv.Itoa(i))) }

// TrainMember trains one member of the ensemble of a run, counted from 0, in a separate folder, which no other
// process can write into meanwhile. [Train] with the results of all members, see [ReadMembers], completes the run.
//
// If its data and options are the same, a member that was stopped or killed is continued, and one that
// has ended is not changed (done is true); with o.Mode Overwrite it starts again. When ctx is
// canceled, the error is train.ErrStopped.
func TrainMember(ctx context.Context, out Folder, member int, d *Partition, o Options) (done bool, err error) {
	folder := out.Member(member)
	lock, err := folder.lock()
	if err != nil {
		return false, err
	}
	done, err = trainMember(ctx, folder, member, d, o)
	if !lock.Holds() {
		err = errors.Join(fmt.Errorf("%s was removed or replaced while it was trained", folder), err)
	}
	if failed := lock.Release(); err == nil && failed != nil {
		return false, failed
	}
	if err != nil { // removes only empty folders
		os.Remove(string(folder))
		os.Remove(string(out))
	}
	return done, err
}

// trainMember is TrainMember in a folder that this process has locked.
func trainMember(ctx context.Context, folder Folder, member int, d *Partition, o Options) (done bool, err error) {
	if err := folder.sweep(); err != nil {
		return false, err
	}
	fit := o.Fit
	if o.Mode != Overwrite && folder.Has(memberFile) {
		p, err := readMember(folder, member)
		if err != nil {
			return false, err
		}
		fit.Members, done = []*train.MemberResult{p}, true
	}
	if o.Mode != Overwrite {
		o.Mode = Resume
	}
	if !done {
		if err := folder.open(&o); err != nil {
			return false, err
		}
	}
	fit.Held = d.Held
	fit.Checkpoint, fit.Resume = folder.checkpoints(), true
	result, chosen, err := train.FitMember(ctx, d.Learn, fit, member)
	switch {
	case done:
		return true, err
	case err != nil:
		folder.abandon()
		return false, err
	}
	// The result is written last: it marks the member as ended.
	if err := folder.writeConfig(&o, &chosen); err != nil {
		return false, err
	}
	if result.ConfigSum, err = folder.configSum(); err != nil {
		return false, err
	}
	if err := result.Write(folder.Path(memberFile)); err != nil {
		return false, err
	}
	return false, train.RemoveCheckpoint(folder.checkpoints())
}

// configSum returns the SHA-256 of the configuration file in hexadecimal.
func (f Folder) configSum() (string, error) {
	sum, err := f.sum(ConfigFile)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", f.Path(ConfigFile), cause(err))
	}
	return sum, nil
}

// readMember reads the result in the folder of a member. It returns an error if it is that of another member, or if the
// configuration file has changed since.
func readMember(folder Folder, i int) (*train.MemberResult, error) {
	p, err := train.ReadMemberResult(folder.Path(memberFile))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrJoin, err)
	}
	if p.Member != i {
		return nil, fmt.Errorf("%w: %s contains member %d, expected in %s%d", ErrJoin, folder, p.Member, memberPrefix, p.Member)
	}
	if p.ConfigSum == "" { // of an earlier build
		return p, nil
	}
	sum, err := folder.configSum()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrJoin, err)
	}
	if sum != p.ConfigSum {
		return nil, fmt.Errorf("%w: %s has changed since the member was trained: its SHA-256 is %s, expected %s",
			ErrJoin, folder.Path(ConfigFile), sum, p.ConfigSum)
	}
	return p, nil
}

// members lists the members that have folders. It returns an error for an invalid name of a folder.
func (f Folder) members() (list []int, err error) {
	there, err := os.ReadDir(string(f))
	if err != nil {
		return nil, fmt.Errorf("%s: expected a folder: %w", f, cause(err))
	}
	for _, e := range there {
		text, ok := strings.CutPrefix(e.Name(), memberPrefix)
		if !ok || !e.IsDir() {
			continue
		}
		i, err := strconv.Atoi(text)
		if err != nil || i < 0 || strconv.Itoa(i) != text {
			return nil, fmt.Errorf("%w: unexpected folder %s: expected names such as %s0", ErrJoin, f.Path(e.Name()), memberPrefix)
		}
		list = append(list, i)
	}
	slices.Sort(list)
	return list, nil
}

// ReadMembers reads the results of all members of the run in a folder. If they cannot be joined the error is
// ErrJoin, or ErrInUse if a member is still being trained.
func ReadMembers(out Folder) ([]*train.MemberResult, error) {
	there, err := out.members()
	if err != nil {
		return nil, err
	}
	if len(there) == 0 {
		return nil, fmt.Errorf("%w: %s contains no members: expected %s0 and so on", ErrIncomplete, out, memberPrefix)
	}
	var results []*train.MemberResult
	for _, i := range there {
		folder := out.Member(i)
		if err := folder.clean(); err != nil { // fails if a process is at work
			return nil, err
		}
		if !folder.Has(memberFile) {
			return nil, fmt.Errorf("%w: %s has not ended: train this member again", ErrIncomplete, folder)
		}
		p, err := readMember(folder, i)
		if err != nil {
			return nil, err
		}
		results = append(results, p)
	}
	return results, sameRun(out, results)
}

// sameRun returns an error if results are not those of all members of one run. Where they differ, the run
// is the one that most of them belong to.
func sameRun(out Folder, results []*train.MemberResult) error {
	var run *train.MemberResult
	most := 0
	for _, p := range results {
		n := 0
		for _, q := range results {
			if p.Members == q.Members && p.Matches(q) == nil {
				n++
			}
		}
		if n > most {
			run, most = p, n
		}
	}
	for _, p := range results {
		folder := out.Member(p.Member)
		if p.Members != run.Members {
			return fmt.Errorf("%w: %s is member %d of %d, but %s is one of %d", ErrJoin, folder, p.Member, p.Members, out.Member(run.Member), run.Members)
		}
		if err := run.Matches(p); err != nil {
			return fmt.Errorf("%w: %s and %s belong to different runs: %w", ErrJoin, folder, out.Member(run.Member), err)
		}
	}
	var missing []string
	for i := range run.Members {
		if !slices.ContainsFunc(results, func(p *train.MemberResult) bool { return p.Member == i }) {
			missing = append(missing, string(out.Member(i)))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: %d of %d members are missing: %s",
			ErrIncomplete, len(missing), run.Members, strings.Join(missing, ", "))
	}
	return nil
}

// Joined reports whether the model in a folder is the one joined from results. For another model the error is ErrExists.
func Joined(out Folder, results []*train.MemberResult) (bool, error) {
	if !out.Has(ModelFile) || out.Unfinished() {
		return false, nil
	}
	m, err := model.Load(out.Path(ModelFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := results[0].Fingerprint(&m.Provenance); err != nil {
		return false, fmt.Errorf("%s %w: its %s was not joined from these members: %w", out, ErrExists, ModelFile, err)
	}
	return true, nil
}
