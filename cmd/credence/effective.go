package main

import (
	"errors"
	"slices"

	"github.com/spf13/pflag"

	"credence/dataset"
	"credence/internal/config"
	"credence/train"
)

// examine reads the data and sets every flag that they decide, as training
// would. The caller closes the data.
func (o *trainOptions) examine(f *pflag.FlagSet) (*dataset.Dataset, error) {
	ds, err := o.data.load()
	if err != nil {
		return nil, err
	}
	if err := o.choose(f, ds); err != nil {
		return nil, errors.Join(err, ds.Close())
	}
	return ds, nil
}

func (o *trainOptions) choose(f *pflag.FlagSet, ds *dataset.Dataset) error {
	if err := o.checkWeights(ds); err != nil {
		return err
	}
	part, held, err := o.division(ds)
	if err != nil {
		return err
	}
	fit := o.fit.options()
	fit.Held = held
	chosen, err := train.Complete(part, fit)
	switch {
	case errors.Is(err, dataset.ErrOneVote):
		return withHint(err, "--force trains nevertheless")
	case err != nil:
		return err
	}
	o.fit.complete(chosen)
	return o.found(f, ds)
}

// found sets the flags on columns, form and classes to what was recognised, so
// that the data are read the same whatever else is in the files.
func (o *trainOptions) found(f *pflag.FlagSet, ds *dataset.Dataset) error {
	votes := ds.Votes
	names := map[string]string{"votes-form": votes.Form.String(), "label": votes.LabelColumn, "rater": votes.RaterColumn}
	item := ""
	for _, c := range ds.Columns {
		if c.Role == dataset.Item {
			item = c.Name
		}
	}
	// --item names a column of both files unless --votes-item does so too.
	switch {
	case votes.ItemColumn == item:
		names["item"] = item
	case votes.ItemColumn != "":
		names["item"], names["votes-item"] = item, votes.ItemColumn
	}
	for name, text := range names {
		if text != "" && !f.Lookup(name).Changed {
			if err := setFlag(f, name, []string{text}); err != nil {
				return err
			}
		}
	}
	if !f.Lookup("classes").Changed {
		return setFlag(f, "classes", ds.Classes)
	}
	return nil
}

// values returns the effective configuration: what is set or chosen, defaults,
// and without a value what is still to be chosen from data.
func (o *trainOptions) values(f *pflag.FlagSet) []config.Value {
	var list []config.Value
	schema := configSchema()
	for i := range schema {
		key := &schema[i]
		flag := f.Lookup(key.Name)
		v := config.Value{Key: key, Origin: o.origins[key.Name]}
		switch {
		case o.fit.rivals() && (key.Name == "components" || key.Name == "limit"):
			continue // of the mixture alone
		case flag.Changed:
			v.Texts = flagTexts(flag)
			if v.Origin.Source == "" {
				v.Origin.Source = config.Data
				// Settings that nobody gave are the method's defaults.
				if slices.Equal(v.Texts, key.Default) || key.Name == "setting" {
					v.Origin.Source = config.Default
				}
			}
		case key.Default != nil:
			v.Texts, v.Origin.Source = key.Default, config.Default
		case slices.Contains(chosenByFit, key.Name) && (o.unread || len(o.data.data) == 0):
			v.Origin.Source = config.Data
		default:
			continue
		}
		list = append(list, v)
	}
	return list
}
