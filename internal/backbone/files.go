package backbone

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"credence/internal/fault"
	"credence/internal/tokenizer"
	"credence/internal/words"
)

// The files of a backbone: the graph, and the files next to it, or above a folder named onnx.
const (
	graphFile     = "model.onnx"
	tokenizerFile = "tokenizer.json"
	processorFile = "preprocessor_config.json"
	maxGraph      = 2 << 30 // bytes, which protobuf limits too
	maxProcessor  = 1 << 20
)

// files are the files of a backbone.
type files struct {
	path         string // of the graph
	graph        []byte
	sum          string // SHA-256 of the graph, in hexadecimal
	tokenizer    *tokenizer.Tokenizer
	tokenizerSum string
	images       *Settings // of the image processor; nil if there is none
}

// readFiles reads the files of the backbone at path, an ONNX file or a folder with one.
func readFiles(ctx context.Context, path string) (*files, error) {
	graph, err := findGraph(path)
	if err != nil {
		return nil, err
	}
	f := &files{path: graph}
	if f.graph, err = readLimited(ctx, graph, maxGraph); err != nil {
		return nil, err
	}
	if len(f.graph) == 0 {
		return nil, fault.Malformed(graph, "expected an ONNX graph, found an empty file")
	}
	f.sum = sumOf(f.graph)
	folders := []string{filepath.Dir(graph)}
	if filepath.Base(folders[0]) == "onnx" {
		folders = append(folders, filepath.Dir(folders[0]))
	}
	for _, dir := range folders {
		if err := f.readTokenizer(ctx, filepath.Join(dir, tokenizerFile)); err != nil {
			return nil, err
		}
		if err := f.readProcessor(ctx, filepath.Join(dir, processorFile)); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// findGraph returns the path of the graph at path.
func findGraph(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fault.Of(path, err)
	}
	if !info.IsDir() {
		return path, nil
	}
	for _, name := range []string{graphFile, filepath.Join("onnx", graphFile)} {
		if _, err := os.Stat(filepath.Join(path, name)); err == nil {
			return filepath.Join(path, name), nil
		}
	}
	list, _ := filepath.Glob(filepath.Join(path, "*.onnx"))
	if len(list) == 1 {
		return list[0], nil
	}
	return "", fault.Malformed(path, "expected %s in this folder, found %s", graphFile, words.Plural(len(list), "other ONNX file"))
}

func (f *files) readTokenizer(ctx context.Context, path string) error {
	text, err := readLimited(ctx, path, tokenizer.MaxSize)
	if f.tokenizer != nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f.tokenizerSum = sumOf(text)
	if f.tokenizer, err = tokenizer.Parse(text); err != nil {
		return fault.Malformed(path, "%v", err)
	}
	return nil
}

func (f *files) readProcessor(ctx context.Context, path string) error {
	text, err := readLimited(ctx, path, maxProcessor)
	if f.images != nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if f.images, err = parseProcessor(text); err != nil {
		return fault.Malformed(path, "%v", err)
	}
	return nil
}

// readLimited reads a file of at most limit bytes.
func readLimited(ctx context.Context, path string, limit int64) ([]byte, error) {
	file, err := fault.OpenFile(path)
	if err != nil {
		return nil, fault.Of(path, err)
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > limit {
		return nil, fault.Malformed(path, "expected at most %s bytes, found %s", words.Thousands(int(limit)), words.Thousands(int(info.Size())))
	}
	b, err := io.ReadAll(io.LimitReader(fault.Reader(ctx, file), limit))
	if err != nil {
		return nil, fault.Of(path, err)
	}
	return b, nil
}

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
