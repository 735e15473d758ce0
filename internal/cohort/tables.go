package cohort

import (
	"encoding/csv"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"credence/internal/atomicfile"
)

// Classes of the votes, in the order of the tables of truth.
var Classes = [2]string{"NC+MCI", "AD"}

// SubjectName returns the name of the scan's subject, such as SYN0001.
func (s *Scan) SubjectName() string { return fmt.Sprintf("SYN%04d", s.Subject+1) }

// VisitName returns bl, m06 or m12.
func (s *Scan) VisitName() string {
	if s.Visit == 0 {
		return "bl"
	}
	return fmt.Sprintf("m%02d", visits[s.Visit].months)
}

// Name identifies the scan.
func (s *Scan) Name() string { return s.SubjectName() + "-" + s.VisitName() }

// Path is where the scan's volume lies in the folder, with slashes.
func (s *Scan) Path() string { return VolumesFolder + "/" + s.Name() + ".nii.gz" }

// table is one CSV file of a part.
type table struct {
	name   string
	header []string
	rows   func(s *Scan) [][]string
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func class(ad bool) string {
	if ad {
		return Classes[1]
	}
	return Classes[0]
}

var tables = []table{
	{ClinicalFile, []string{"subject", "visit", "scan", "path", "DX", "MMSE", "CDR", "part", "synthetic",
		"truth_s", "truth_shown", "truth_pi_DX", "truth_pi_CDR", "truth_pi_MMSE", "truth_p"},
		func(s *Scan) [][]string {
			return [][]string{{s.SubjectName(), s.VisitName(), s.Name(), s.Path(), s.DX, strconv.Itoa(s.MMSE), number(s.CDR),
				string(s.Part), "yes", number(s.Severity), number(s.Shown),
				number(s.Pi[0]), number(s.Pi[1]), number(s.Pi[2]), number(s.Mean)}}
		}},
	{ExchangeableFile, []string{"scan", "label"}, func(s *Scan) (rows [][]string) {
		for _, ad := range s.Votes {
			rows = append(rows, []string{s.Name(), class(ad)})
		}
		return rows
	}},
	{TruthFile, []string{"scan", Classes[0], Classes[1]}, func(s *Scan) [][]string {
		return [][]string{{s.Name(), number(1 - s.Mean), number(s.Mean)}}
	}},
}

// writeTables writes the tables of both parts and the README.
func (c *Cohort) writeTables(dir string, size Size) error {
	parts := []struct {
		prefix string
		scans  []Scan
	}{{"", c.Scans[:c.Options.Scans]}, {FreshPrefix, c.Scans[c.Options.Scans:]}}
	for _, p := range parts {
		for _, t := range tables {
			if len(p.scans) == 0 {
				continue
			}
			err := atomicfile.Write(filepath.Join(dir, p.prefix+t.name), func(w io.Writer) error {
				out := csv.NewWriter(w)
				rows := [][]string{t.header}
				for i := range p.scans {
					rows = append(rows, t.rows(&p.scans[i])...)
				}
				return out.WriteAll(rows)
			})
			if err != nil {
				return err
			}
		}
	}
	return atomicfile.Write(filepath.Join(dir, ReadmeFile), func(w io.Writer) error { return c.readme(w, size) })
}

// readme describes the folder.
func (c *Cohort) readme(w io.Writer, size Size) error {
	t := c.Thresholds
	_, err := fmt.Fprintf(w, `SYNTHETIC DATA. NO PERSON WAS SCANNED, TESTED OR DIAGNOSED.

These volumes are drawn by a program from geometric shapes, and these scores by
a random number generator. They imitate the size and the tables of the ADNI
study of Wu et al. (ICML 2019) so that software can be tried where the real data
may not be had. Nothing can be learned from them about Alzheimer's disease, MRI
or any person. Every row says synthetic = yes, and so does every volume's header.

Made with
  credence data adni-synthetic --scans %d --fresh %d --seed %d --size %dx%dx%d

volumes/          one NIfTI-1 file per scan, int16, stored LAS
%-18sone row per scan: subject, visit, scan, path of the volume,
                  diagnosis (DX), MMSE and CDR; then the truth
%-18sthree votes per scan, AD with probability truth_p each
%-18strue probability of each class, for credence evaluate --truth
fresh-...         the same for scans of other subjects, to test on

The law
  s        severity: N(0, 1) per subject, drifting up by about 0.1 per year
  image    shows s + 0.4 e: ventricles and sulci widen, hippocampi and cortex
           thin as it grows, over anatomy that differs between subjects
  scores   an instrument reads s + sigma e, sigma = 0.35 (DX), 0.35 (CDR), 0.5
           (MMSE); ranked over the scans and cut so that NC, MCI and AD are as
           many as in the paper's table
Columns of truth
  truth_s        s at the visit
  truth_shown    s + 0.4 e, what the image shows
  truth_pi_...   probability that the instrument says AD:
                 Phi((s - t)/sigma), t = %.4f (DX), %.4f (CDR), %.4f (MMSE)
  truth_p        mean of the three: the chance that an instrument picked at
                 random says AD
No column of truth may be a feature of a model.
`, c.Options.Scans, c.Options.Fresh, c.Seed, size[0], size[1], size[2], ClinicalFile, ExchangeableFile, TruthFile, t[0], t[1], t[2])
	return err
}
