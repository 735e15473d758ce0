package model

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"credence/dataset"
	"credence/head"
	"credence/internal/atomicfile"
	"credence/internal/safetensors"
	"credence/nn"
)

// The errors that [Load] returns for invalid files; use errors.Is.
var (
	// ErrTruncated means that the file ends too early.
	ErrTruncated = safetensors.ErrTruncated
	// ErrCorrupt means that the content is not what was written.
	ErrCorrupt = safetensors.ErrCorrupt
	// ErrForeign means that the file is not a model of this program.
	ErrForeign = safetensors.ErrForeign
	// ErrOlder means that a version of this program before its first release wrote the file.
	ErrOlder = errors.New("the file was written by an older version of credence")
	// ErrNewer means that a newer version of this program wrote the file.
	ErrNewer = errors.New("the file was written by a newer version of credence")
)

// Format and version of the file.
const (
	format  = "credence-model"
	version = 2
)

// Keys of the metadata; each value is JSON.
const (
	keyFormat      = "format"
	keyVersion     = "format_version"
	keyClasses     = "classes"
	keyOrdered     = "ordered"
	keyHead        = "head"
	keyRaters      = "raters"
	keyRaterModel  = "crowd"
	keyTransform   = "transform"
	keyNetworks    = "networks" // the layers of each member
	keyCalibration = "calibration"
	keyProvenance  = "provenance"
	// keyRecalibration is present only in recalibrated models.
	keyRecalibration = "recalibration"
	// keyTrees is present only in models with trees: the share of the forests.
	keyTrees = "trees"
)

// section is a value that is stored as JSON in the metadata.
type section struct {
	key   string
	value any // the value to write, or a pointer to read it into
}

// sections returns the sections that every model has; method and layers are JSON already.
func (m *Model) sections(method *json.RawMessage, layers *[]json.RawMessage) []section {
	return []section{
		{keyClasses, &m.Classes}, {keyHead, method}, {keyRaters, &m.Raters}, {keyTransform, m.Transform},
		{keyNetworks, layers}, {keyCalibration, &m.Calibration}, {keyProvenance, &m.Provenance},
	}
}

// Versions of models with more than all programs of the base version know: these refuse the file instead of predicting
// without it.
const (
	recalibratedVersion = version + 1 // recalibrated, or calibrated by group
	treesVersion        = version + 2 // trees, or normal scores among the inputs
)

// version returns the version of the format that the model needs.
func (m *Model) version() int {
	if m.Trees != nil || m.Transform.HasScores() {
		return treesVersion
	}
	if m.Recalibration != nil || m.Calibration != nil && m.Calibration.Groups != nil {
		return recalibratedVersion
	}
	return version
}

// Save writes the model to path, whole or not at all.
func (m *Model) Save(path string) error {
	return atomicfile.Write(path, m.Encode)
}

// Encode writes the model in the format that [Load] reads.
func (m *Model) Encode(w io.Writer) error {
	if m.partial {
		return errors.New("writing a model: it was loaded without its provenance")
	}
	if err := m.Check(); err != nil {
		return err
	}
	layers := make([]json.RawMessage, len(m.Members))
	for i, member := range m.Members {
		var err error
		if layers[i], err = nn.Describe(member.Layers()); err != nil {
			return fmt.Errorf("writing a model: network %d: %w", i, err)
		}
	}
	method, err := head.Encode(m.Method)
	if err != nil {
		return err
	}
	list := append(m.sections(&method, &layers), section{keyFormat, format}, section{keyVersion, m.version()})
	if m.Ordered {
		list = append(list, section{keyOrdered, true})
	}
	if m.RaterModel != nil {
		list = append(list, section{keyRaterModel, raterRecord{m.RaterModel.BiasSD, m.RaterModel.Ordered}})
	}
	if m.Recalibration != nil {
		list = append(list, section{keyRecalibration, m.Recalibration})
	}
	if m.Trees != nil {
		list = append(list, section{keyTrees, m.Trees.Share})
	}
	meta := map[string]string{}
	for _, s := range list {
		if meta[s.key], err = marshal(s.value); err != nil {
			return fmt.Errorf("writing a model: %s: %w", s.key, err)
		}
	}
	f := &safetensors.File{Metadata: meta}
	for i, member := range m.Members {
		for _, p := range slices.Concat(member.Params, member.States) {
			f.Tensors = append(f.Tensors, safetensors.Tensor{Name: tensorName(i, p), Shape: p.Shape, Values: p.Value})
		}
	}
	for _, a := range m.Transform.Arrays() {
		f.Tensors = append(f.Tensors, safetensors.Tensor(a))
	}
	f.Tensors = append(f.Tensors, encodeTrees(m.Trees)...)
	f.Tensors = append(f.Tensors, encodeRaterModel(m.RaterModel)...)
	return safetensors.Write(w, f)
}

// Hash returns the SHA-256, in hexadecimal, of the model file.
func (m *Model) Hash() (string, error) {
	h := sha256.New()
	if err := m.Encode(h); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// tensorName is the name of a member's parameter or state in the file.
func tensorName(member int, p *nn.Param) string { return fmt.Sprintf("member%d.%s", member, p.Name) }

// marshal is json.Marshal without HTML escapes.
func marshal(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// Load reads a model. It returns an error for files that are truncated, corrupt, of
// another kind or from another version of the format, and allocates no more than a
// small multiple of the file's size.
func Load(path string) (*Model, error) { return LoadWith(path, Extensions{}) }

// Extensions lists methods and layers of other packages that a model may use, and what is not to be read.
type Extensions struct {
	Methods []head.Method
	Layers  []nn.Typed // a zero value of each type
	// NoProvenance leaves the model's Provenance empty. Predictions do not depend on it, and the history of training takes a
	// third of the time to load a small model. Such a model cannot be saved.
	NoProvenance bool
}

// LoadWith is [Load] for models that use methods and layers of other packages, or of which not everything is needed.
func LoadWith(path string, k Extensions) (*Model, error) {
	f, err := safetensors.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m, err := fromFile(f, k)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return m, nil
}

// Decode reads a model of size bytes that [Model.Encode] wrote.
func Decode(r io.Reader, size int64) (*Model, error) {
	f, err := safetensors.Read(r, size)
	if err != nil {
		return nil, err
	}
	return fromFile(f, Extensions{})
}

// fromFile returns the model in a file with valid checksums. Everything else is
// checked nevertheless: anyone can compute a checksum.
func fromFile(f *safetensors.File, k Extensions) (*Model, error) {
	var kind string
	if json.Unmarshal([]byte(f.Metadata[keyFormat]), &kind) != nil || kind != format {
		return nil, fmt.Errorf("%w: a safetensors file, but not a Credence model", ErrForeign)
	}
	var v int
	if err := json.Unmarshal([]byte(f.Metadata[keyVersion]), &v); err != nil || v < 1 {
		return nil, fmt.Errorf("%w: invalid format version %q", ErrCorrupt, f.Metadata[keyVersion])
	}
	if v < version {
		return nil, fmt.Errorf("%w: its format is version %d, this program reads version %d: train it again",
			ErrOlder, v, version)
	}
	if v > treesVersion {
		return nil, fmt.Errorf("%w: its format is version %d, this program reads up to %d", ErrNewer, v, treesVersion)
	}
	m, err := fromContent(f, k)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return m, nil
}

// fromContent returns the model in a file of this version.
func fromContent(f *safetensors.File, k Extensions) (*Model, error) {
	m := &Model{Transform: &dataset.Transform{}}
	var layers []json.RawMessage
	var method json.RawMessage
	var record *raterRecord
	list := m.sections(&method, &layers)
	if f.Metadata[keyOrdered] != "" { // only in models with ordered classes
		list = append(list, section{keyOrdered, &m.Ordered})
	}
	if f.Metadata[keyRaterModel] != "" { // only in models with a rater model
		list = append(list, section{keyRaterModel, &record})
	}
	if f.Metadata[keyRecalibration] != "" {
		list = append(list, section{keyRecalibration, &m.Recalibration})
	}
	for _, s := range list {
		if s.key == keyProvenance && k.NoProvenance {
			m.partial = true
			continue
		}
		if err := json.Unmarshal([]byte(f.Metadata[s.key]), s.value); err != nil {
			return nil, fmt.Errorf("%s: %w", s.key, err)
		}
	}
	if n := len(f.Metadata[keyNetworks]); n > maxNetworks {
		return nil, fmt.Errorf("expected at most %d bytes of network layers, found %d", maxNetworks, n)
	}
	var err error
	if m.Method, err = head.Parse(method, k.Methods...); err != nil {
		return nil, err
	}
	h, err := m.Head()
	if err != nil {
		return nil, err
	}
	tensors, in := f.ByName(), InputShape(m.Transform)
	if err := m.Transform.SetArrays(func(name string) *dataset.Array {
		t := tensors[name]
		delete(tensors, name)
		return (*dataset.Array)(t)
	}); err != nil {
		return nil, fmt.Errorf("%s: %w", keyTransform, err)
	}
	roots := map[string]nn.Layer{} // members mostly have the same layers
	for i, text := range layers {
		if roots[string(text)] == nil {
			if roots[string(text)], err = parseLayers(text, k.Layers); err != nil {
				return nil, fmt.Errorf("network %d: %w", i, err)
			}
		}
		member, err := loadMember(tensors, i, roots[string(text)], in, h.Own())
		if err != nil {
			return nil, fmt.Errorf("network %d: %w", i, err)
		}
		m.Members = append(m.Members, member)
	}
	if err := m.readTrees(f.Metadata[keyTrees], tensors); err != nil {
		return nil, err
	}
	if m.RaterModel, err = record.raterModel(tensors, len(m.Classes), len(m.Raters)); err != nil {
		return nil, err
	}
	if err := m.Check(); err != nil {
		return nil, err
	}
	if len(tensors) > 0 {
		return nil, fmt.Errorf("tensor %q belongs to no network", slices.Min(slices.Collect(maps.Keys(tensors))))
	}
	return m, nil
}

// maxNetworks is the largest size in bytes of the description of the layers of all networks:
// enough for thousands of networks. Reading it takes about a hundred times as much memory.
const maxNetworks = 4 << 20

// parseLayers reads the description of a network.
func parseLayers(text []byte, known []nn.Typed) (root nn.Layer, err error) {
	defer recoverLayers(&err)
	if err := checkSizes(text); err != nil {
		return nil, err
	}
	return nn.Parse(text, 0, known...)
}

// recoverLayers is deferred to convert a panic of a layer whose sizes are absurd to an error.
func recoverLayers(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("invalid layers: %v", p)
	}
}

// loadMember builds network i and fills it from tensors, which are those of the file
// that no earlier network uses. Names and shapes are compared first, so that no more
// is allocated than the file contains.
func loadMember(
	tensors map[string]*safetensors.Tensor, i int, root nn.Layer, in nn.Shape, own []nn.HeadParam,
) (member *nn.Network, err error) {
	defer recoverLayers(&err)
	params, states, err := nn.Tensors(root, in)
	if err != nil {
		return nil, err
	}
	if len(params) == 0 {
		return nil, errors.New("no layer has parameters")
	}
	for _, t := range own { // all are compared, whether trained or not
		params = append(params, &nn.Param{Name: t.Name, Shape: t.Shape})
	}
	for _, p := range slices.Concat(params, states) {
		t := tensors[tensorName(i, p)]
		if t == nil {
			return nil, fmt.Errorf("tensor %s is missing", p.Name)
		}
		if !slices.Equal(t.Shape, []int(p.Shape)) {
			return nil, fmt.Errorf("tensor %s: expected shape %v, found %v", p.Name, p.Shape, t.Shape)
		}
	}
	member, err = nn.New(root, in, nn.Options{Own: own, Blank: true})
	if err != nil {
		return nil, err
	}
	for _, p := range slices.Concat(member.Params, member.States) {
		name := tensorName(i, p)
		copy(p.Value, tensors[name].Values)
		delete(tensors, name)
	}
	return member, nil
}

// largest is the largest size that a description of layers may contain.
const largest = 1 << 24

// checkSizes returns an error if layers have sizes beyond those of any real network: building
// them would allocate tables before the tensors can be compared.
func checkSizes(layers []byte) error {
	dec := json.NewDecoder(bytes.NewReader(layers))
	for {
		token, err := dec.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if x, ok := token.(float64); ok && !(x >= 0 && x <= largest) {
			return fmt.Errorf("layers: expected sizes from 0 to %d, found %v", largest, x)
		}
	}
}
