package run

import (
	"context"
	"os"

	"credence/dataset"
	"credence/evaluate"
	"credence/internal/config"
	"credence/model"
	"credence/predict"
	"credence/report"
)

// NewStudy returns what a report needs to be that of a study on the items of ds, a part of all items that were read.
// The model m was loaded from path, the folder of a run or a model file; all and ds are nil if only the model matters.
// The caller sets the card and the part.
func NewStudy(ctx context.Context, path string, m *model.Model, all, ds *dataset.Dataset) (*report.Study, error) {
	s := &report.Study{Features: m.Transform.Schema(), Calibration: m.Calibration, Recalibration: m.Recalibration}
	file := path
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		file = Folder(path).Path(ModelFile)
	}
	sum, err := predict.SumFile(ctx, file)
	if err != nil {
		return nil, err
	}
	s.Model = sum.SHA256
	if ds != nil {
		s.Read = all.Len()
		if s.Data, err = ds.Hash(); err != nil {
			return nil, err
		}
		if s.Seen, _, err = FolderOf(path).Seen(m, ds); err != nil {
			return nil, err
		}
	}
	var trained config.Settings
	if trained.File(FolderOf(path).Path(ConfigFile)) == nil { // a model file may be alone
		s.Group = trained.Load.FeatureOptions.GroupColumn
	}
	return s, nil
}

// NewModelCard returns the card of the model m, which was loaded from path, with the texts of a card, which may be nil.
func NewModelCard(ctx context.Context, path string, m *model.Model, texts *report.Card) (*report.ModelCard, error) {
	in := ReportInput(m, &evaluate.Input{}, nil)
	var err error
	if in.Study, err = NewStudy(ctx, path, m, nil, nil); err != nil {
		return nil, err
	}
	in.Study.Card = texts
	return report.NewModelCard(in)
}
