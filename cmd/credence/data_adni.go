package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image/png"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"credence/internal/atomicfile"
	"credence/internal/cohort"
	"credence/internal/words"
)

// adniOptions is the command line of credence data adni-synthetic.
type adniOptions struct {
	out          string
	scans, fresh int
	seed         uint64
	size         string
	overwrite    bool
	montage      string
}

func newDataADNISynthetic() *cobra.Command {
	o := adniOptions{}
	cmd := newVerb("adni-synthetic", "Write a synthetic cohort of MRI scans with clinical scores", "", o.run)
	f := cmd.Flags()
	f.StringVar(&o.out, "out", "", "`folder` to write to")
	f.IntVar(&o.scans, "scans", cohort.PaperScans, "`number` of scans")
	f.IntVar(&o.fresh, "fresh", 0, "`number` of further scans, of other subjects, to test on")
	f.Uint64Var(&o.seed, "seed", 1, "`seed` of everything random")
	f.StringVar(&o.size, "size", "96x96x80", "`voxels` of a volume, XxYxZ: right to left, back to front, up")
	f.BoolVar(&o.overwrite, "overwrite", false, "replace another cohort in the folder, or the picture")
	f.StringVar(&o.montage, "montage", "", "`file`.png of slices to write, instead of a folder")
	return cmd
}

func (o *adniOptions) run(cmd *cobra.Command, _ []string) error {
	size, err := parseSize(o.size)
	oneOutput := expect((o.out == "") != (o.montage == ""), "expected a folder with --out, or a picture with --montage")
	if err := cmp.Or(err, oneOutput); err != nil {
		return err
	}
	if o.montage != "" {
		return o.writeMontage(size)
	}
	err = cmp.Or(
		expect(o.scans >= 1, "--scans %d: expected one or more", o.scans),
		expect(o.fresh >= 0, "--fresh %d: expected none or more", o.fresh))
	if err != nil {
		return err
	}
	c, err := cohort.New(cohort.Options{Scans: o.scans, Fresh: o.fresh, Seed: o.seed})
	if err != nil {
		return err
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	start, bar := time.Now(), newStatusLine(cmd.ErrOrStderr())
	progress := func(done, total int) {
		if now := time.Now(); bar.due(now, 200*time.Millisecond, 10*time.Second) {
			left := time.Duration(float64(now.Sub(start)) / float64(done) * float64(total-done)).Round(time.Second)
			bar.show("credence: ", fmt.Sprintf("%s of %s volumes, %s left", words.Thousands(done), words.Thousands(total), left))
		}
	}
	err = cohort.Write(ctx, o.out, c, cohort.WriteOptions{Size: size, Overwrite: o.overwrite, Progress: progress})
	bar.erase()
	if errors.Is(err, context.Canceled) {
		return withHint(errors.New("interrupted"), "the same command completes "+o.out)
	}
	if err != nil {
		return withHintOn(err, hint{cohort.ErrOccupied, "choose another folder, or give --overwrite"})
	}
	subjects := 0
	for i, s := range c.Scans {
		if i == 0 || s.Subject != c.Scans[i-1].Subject {
			subjects++
		}
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s scans of %s synthetic subjects, %s, seed %d\n",
		o.out, words.Thousands(len(c.Scans)), words.Thousands(subjects), o.size, o.seed)
	return err
}

// writeMontage draws one subject at three severities: the mean less one and a
// half standard deviations, about the mean, and two above it.
func (o *adniOptions) writeMontage(size cohort.Size) error {
	if !strings.HasSuffix(strings.ToLower(o.montage), ".png") {
		return usagef("--montage %q: expected a name that ends in .png", o.montage)
	}
	p := cohort.Picture{Seed: o.seed, Part: cohort.Study}
	if err := checkOutputs(nil, o.overwrite, []string{o.montage}, nil); err != nil {
		return err
	}
	img := cohort.Montage(p, size, []float64{-1.5, 0.3, 2}, max(1, 288/size[0]))
	return atomicfile.Write(o.montage, func(w io.Writer) error {
		return (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(w, img)
	})
}

// parseSize reads a size such as 96x96x80.
func parseSize(s string) (size cohort.Size, err error) {
	parts := strings.Split(s, "x")
	if len(parts) != len(size) {
		return size, usagef("--size %q: expected three numbers such as 96x96x80", s)
	}
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil || n < 4 || n > 512 {
			return size, usagef("--size %q: %q is not a number of voxels from 4 to 512", s, p)
		}
		size[i] = n
	}
	return size, nil
}
