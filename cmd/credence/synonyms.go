package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/internal/words"
)

// flagSynonyms returns our flags by the names that users know from scikit-learn, Keras,
// PyTorch Lightning, Hugging Face, XGBoost, LightGBM, R and others.
func flagSynonyms() map[string][]string {
	return invert(map[string]string{
		"rate":          "learning-rate lr learn-rate eta step-size lr0 base-lr init-lr learning-rate-init",
		"epochs":        "epoch n-epochs num-epochs max-epochs nepochs num-train-epochs n-iter max-iter iterations num-iterations num-boost-round nrounds passes steps max-steps",
		"batch":         "batch-size batchsize bs minibatch mini-batch per-device-train-batch-size chunk-size chunksize",
		"out":           "output output-dir out-dir outdir save save-dir save-to dest destination model-dir run-dir logdir log-dir o folder dir checkpoint-dir project",
		"output":        "out out-file outfile output-file save save-to dest destination to predictions csv-out",
		"data":          "input inputs features-file x train-data train-file training-data dataset file path csv table train training frame df source src data-file",
		"votes":         "annotations ratings labels-file votes-file labels y-file label-file annotation-file annotators-file crowd",
		"label":         "label-column label-col target target-column target-col target-name y outcome response dependent class-column class-col labels answer-column",
		"rater":         "annotator annotators annotator-column worker worker-id annotator-id rater-column coder reader judge raters user",
		"vote-columns":  "rater-columns raters annotator-columns label-columns label-cols target-columns targets votes-columns vote-cols",
		"item":          "id id-column id-col id-name index index-col index-column key item-column item-col item-id ids row-id join-on on",
		"group":         "groups group-column group-col group-by cluster clusters patient subject strata",
		"ignore":        "drop drop-columns drop-cols exclude exclude-columns skip skip-columns remove ignore-columns ignored",
		"features":      "columns cols feature-columns feature-cols feature-names predictors independent usecols use-cols x-columns",
		"categorical":   "cat-features categorical-features categorical-columns categorical-cols cat-cols cats factors factor nominal",
		"numeric":       "numeric-columns numeric-features numerical num-cols continuous",
		"na":            "na-values na-value missing missing-values missing-value null null-values na-strings na-string nan",
		"classes":       "class-names class-labels levels label-names labels num-classes n-classes num-class",
		"test":          "test-size test-split test-fraction test-frac test-share holdout hold-out test-ratio test-data",
		"validation":    "val validation-split validation-fraction validation-size val-size val-split val-frac valid dev dev-size eval-size val-fraction",
		"split":         "split-column split-col fold-column partition",
		"seed":          "random-state random-seed rng seed-value randomstate rseed set-seed",
		"network":       "model arch architecture net backbone layers model-type network-file topology",
		"widths":        "hidden hidden-size hidden-sizes hidden-layers hidden-layer-sizes hidden-units units width n-hidden neurons hidden-dim hidden-dims dims",
		"ensemble":      "ensemble-size n-models num-models models members n-estimators num-members n-ensemble networks n-networks bags bagging",
		"components":    "k n-components num-components mixtures mixture-components n-mixtures num-mixtures n-gaussians",
		"patience":      "early-stopping early-stop early-stopping-rounds early-stopping-patience stop-after tolerance",
		"optimizer":     "optim opt solver algorithm",
		"schedule":      "scheduler lr-schedule lr-scheduler learning-rate-schedule lr-decay sched",
		"weight-decay":  "wd l2 decay l2-reg regularization reg lambda alpha ridge l2-regularization reg-lambda",
		"clip":          "grad-clip gradient-clip clip-grad max-norm max-grad-norm clipnorm clip-norm gradient-clip-val",
		"dropout":       "drop-rate dropout-rate drop-prob p-dropout p-drop",
		"class-weights": "class-weight classweights scale-pos-weight balance weights-by-class",
		"item-weights":  "weights weight sample-weight sample-weights weight-column weight-col case-weights instance-weights",
		"method":        "loss objective head criterion approach technique estimator",
		"threads":       "n-jobs jobs nthreads nthread n-threads num-threads cores n-cores num-workers workers n-workers cpus cpu j parallel processes",
		"config":        "config-file cfg conf settings params hparams yaml configuration",
		"resume":        "continue restart resume-from resume-from-checkpoint warm-start checkpoint",
		"overwrite":     "replace clobber force-overwrite overwrite-output-dir yes",
		"quiet":         "silent no-progress verbosity no-verbose",
		"level":         "levels ci confidence confidence-level conf-level conf interval intervals credible credible-level coverage prob probs alpha quantiles quantile",
		"min-top":       "threshold cutoff cut-off min-confidence min-prob min-probability reject",
		"max-width":     "max-uncertainty max-interval",
		"part":          "subset on-part split-part set partition",
		"by":            "group-by groupby by-group subgroups strata stratify-by slice slices",
		"format":        "output-format out-format fmt type as json jsonl csv parquet",
		"digits":        "precision decimals decimal-places float-format round sig-figs significant",
		"wide":          "wide-format one-row pivot spread per-item",
		"names":         "column-names tidy tidymodels style",
		"full":          "parameters params all-parameters verbose-output dump",
		"hpd":           "hdi highest-density hdr hpdi",
		"truth":         "true-probabilities ground-truth gold true-p probabilities",
		"report":        "html html-report page",
		"bootstrap":     "n-bootstrap replicates n-boot boot resamples draws n-resamples",
		"budget":        "n-votes num-votes total-votes votes-budget n queries",
		"max-votes":     "votes-per-item per-item max-per-item",
		"ordered":       "ordinal",
		"title":         "heading report-title",
		"author":        "authors by-author",
		"augment":       "augmentation augmentations data-augmentation transforms",
		"image-column":  "image images image-col image-path path-column paths filepath",
		"image-size":    "img-size imgsz resize size input-size",
		"memory":        "mem max-memory ram memory-limit max-mem",
		"cache":         "cache-dir tmp tmp-dir temp",
	})
}

// flagAdvice returns hints on flags of other tools that have no counterpart here.
func flagAdvice() map[string]string {
	return eachWord(map[string]string{
		"cv folds k-fold kfold n-folds n-splits cross-validation": cvAdvice,
		"gpu gpus cuda accelerator fp16":                          gpuAdvice,
		"sep delimiter separator delim":                           sepAdvice,
		"tune trials n-trials":                                    tuneAdvice,

		"verbose log-level":           "how the data were read and the progress are always printed; --quiet prints less",
		"normalize standardize scale": "features are always standardized, in predictions as in training",
		"proba predict-proba":         "credence predict always writes the probabilities of all classes",
		"majority aggregate":          "votes are not aggregated: the model learns from all of them",
		"metric metrics eval-metric":  "credence evaluate computes all scores",
		"max-time time-limit":         "Ctrl-C stops at any time and keeps the result so far; --epochs limits the passes",

		"pdf":         pdfAdvice,
		"calibration": calibrateAdvice,
		"encoding":    "text is read as UTF-8; convert other files first, such as with iconv",
		"header":      "the first line of a table always names its columns",
		"debug":       "how the data were read and the progress are always printed; --json prints every epoch of training",
		"stratify":    "splits are always stratified by class; --group keeps items together",
		"shuffle":     "items are always shuffled, by --seed",
		"impute":      "missing values are handled: a number becomes the mean with an indicator, a category a level of its own",
		"save-model":  "credence train writes the model into --out",
		"model-file":  "the model is the first argument: credence predict RUN ITEMS",
		"run":         "the run is the first argument: credence predict RUN ITEMS",
		"pretrained":  "networks are trained from the data alone",
		"auto":        "options that are not given are always chosen from the data",
		"dry-run":     "credence config show --config FILE shows what training would do; credence init reads the data without training",
	})
}

const (
	cvAdvice        = "each network of an ensemble holds out one fold (--ensemble); --test holds out items for credence evaluate"
	gpuAdvice       = "credence-full train and predict --device gpu run on a GPU; --threads sets the number of CPU cores"
	sepAdvice       = "the separator of a table is detected: comma, semicolon, tab or bar"
	pdfAdvice       = "name the output .pdf: credence report RUN DATA -o report.pdf"
	tuneAdvice      = "credence train chooses its settings from the data; credence config show lists them"
	searchAdvice    = "credence train chooses its settings from the data; credence config show lists what could be set"
	calibrateAdvice = "credence train always calibrates intervals by held-out votes; see --calibrate"
)

// verbSynonyms returns our commands by their names in other tools.
func verbSynonyms() map[string][]string {
	return invert(map[string]string{
		"train":    "fit learn tune finetune fine-tune optimize hyperopt search cv build run",
		"predict":  "classify infer inference apply score-items transform forecast proba",
		"evaluate": "eval test score validate metrics assess judge measure benchmark-model",
		"inspect":  "show info describe summary print view card explain",
		"check":    "agreement kappa alpha irr votes validate-votes lint diagnose",
		"report":   "plot html page pdf dashboard visualize figures",
		"next":     "label annotate active acquire query suggest select allocate sample",
		"init":     "new create setup start scaffold",
		"verify":   "repeat rerun audit prove",
		"bench":    "benchmark speed perf time",
		"data":     "download fetch dataset datasets import convert prepare",
		"demo":     "example tutorial try quickstart",
		"export":   "onnx to-onnx save freeze package",
		"config":   "settings options configure",
		"mixture":  "beta dirichlet posterior calc calculator",
		"version":  "about --v",
		"help":     "man usage docs",
	})
}

// verbAdvice returns hints on commands of other tools that have no counterpart here.
func verbAdvice() map[string]string {
	return eachWord(map[string]string{
		"cv":                   cvAdvice,
		"calibrate":            calibrateAdvice,
		"tune hyperopt search": searchAdvice,
		"resume":               "credence train --out FOLDER --resume continues a run",
		"merge join":           "--data and --votes may be repeated: files are joined by item",
		"upgrade":              "credence is one file: replace it with a newer one",
	})
}

// invert converts a map from our names to lists of words into one from words to our names.
func invert(of map[string]string) map[string][]string {
	to := map[string][]string{}
	for name, list := range of {
		for word := range strings.FieldsSeq(list) {
			to[word] = append(to[word], name)
		}
	}
	return to
}

// eachWord splits keys that are lists of words into one key per word.
func eachWord(of map[string]string) map[string]string {
	to := map[string]string{}
	for list, advice := range of {
		for word := range strings.FieldsSeq(list) {
			to[word] = advice
		}
	}
	return to
}

// unknownFlag adds a hint to the error about a flag that cmd does not have.
func unknownFlag(cmd *cobra.Command, unknown *pflag.NotExistError) error {
	err := usagef("%w", error(unknown))
	name := unknown.GetSpecifiedName()
	if short := unknown.GetSpecifiedShortnames(); len(short) > 1 {
		// -data, as some tools write --data.
		name, _, _ = strings.Cut(short, "=")
		if cmd.Flags().Lookup(name) == nil && flagHint(cmd, name) == "" {
			return err
		}
		err = usagef("unknown flag: -%s", name)
		if cmd.Flags().Lookup(name) != nil {
			return withHint(err, fmt.Sprintf("a long flag begins with two hyphens: --%s", name))
		}
	}
	if hint := flagHint(cmd, name); hint != "" {
		return withHint(err, hint)
	}
	return err
}

// flagHint returns a hint on an unknown flag, such as one of another tool, or "".
func flagHint(cmd *cobra.Command, name string) string {
	plain := strings.ToLower(strings.ReplaceAll(name, "_", "-"))
	has := func(name string) bool { f := cmd.Flags().Lookup(name); return f != nil && !f.Hidden }
	if has(plain) {
		return fmt.Sprintf("did you mean --%s?", plain)
	}
	var fits []string
	for _, own := range flagSynonyms()[plain] {
		if has(own) {
			fits = append(fits, "--"+own)
		}
	}
	if len(fits) > 0 {
		slices.Sort(fits)
		return fmt.Sprintf("did you mean %s?", strings.Join(fits, " or "))
	}
	if advice := flagAdvice()[plain]; advice != "" {
		return advice
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := words.Nearest(plain, names); near != "" {
		return fmt.Sprintf("did you mean --%s?", near)
	}
	return otherVerbs(cmd, plain)
}

// otherVerbs returns a hint on the commands that have a flag which cmd lacks, or "".
func otherVerbs(cmd *cobra.Command, name string) string {
	var with []string
	for _, c := range wholeTree().Commands() {
		if f := c.Flags().Lookup(name); f != nil && !f.Hidden && c.CommandPath() != cmd.CommandPath() {
			with = append(with, "credence "+c.Name())
		}
	}
	if len(with) == 0 || len(with) > 4 {
		return ""
	}
	return fmt.Sprintf("--%s is a flag of %s", name, strings.Join(with, ", "))
}

// verbHint returns a hint on an unknown command, such as one of another tool, or "".
func verbHint(cmd *cobra.Command, word string) string {
	word = strings.ToLower(word)
	if cmd.HasParent() {
		return ""
	}
	if advice := verbAdvice()[word]; advice != "" {
		return advice
	}
	return didYouMean(cmd, slices.Sorted(slices.Values(verbSynonyms()[word])))
}
