package dataset

import (
	"cmp"
	"context"
	_ "image/jpeg" // decoders of the formats below
	_ "image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"credence/internal/array"
	"credence/internal/fault"
	"credence/internal/nifti"
	"credence/internal/table"
	"credence/internal/volume"
	"credence/internal/words"
)

// The format of a file is determined in three places: internal/table lists the formats of tables,
// internal/array those of arrays, and this file those of images and volumes. A new format of
// volumes is a package with a [volume.Format], and an entry in volumeFormats.

// imageExtensions are the extensions of image files, which package image decodes by their content.
var imageExtensions = []string{".png", ".jpg", ".jpeg"}

// imageFormats names the formats of images in messages.
const imageFormats = "PNG or JPEG"

// volumeFormats are all formats of volumes.
var volumeFormats = []*volume.Format{&nifti.Format}

// volumeNames returns the names of the formats of volumes for messages.
func volumeNames() string {
	return strings.Join(words.Each(volumeFormats, func(f *volume.Format) string { return f.Name }), " or ")
}

// volumeFormat returns the format of a volume by its file name, or nil if the file is not a volume.
func volumeFormat(path string) *volume.Format {
	for _, f := range volumeFormats {
		if _, ext := volume.SplitName(path, f.Extensions); ext != "" {
			return f
		}
	}
	return nil
}

// volumeReader returns the format to read a file as. Without a matching format it is the first, whose
// reader returns the error.
func volumeReader(path string) *volume.Format { return cmp.Or(volumeFormat(path), volumeFormats[0]) }

// isVoxels reports whether a file contains the voxels of a volume whose header is in another file.
func isVoxels(path string) bool {
	f := volumeFormat(path)
	return f != nil && fault.Extension(path) == f.Voxels
}

func isImage(path string) bool {
	return slices.Contains(imageExtensions, strings.ToLower(filepath.Ext(path)))
}

// isPicture reports whether a file is an image or a volume, by its name.
func isPicture(path string) bool { return isImage(path) || volumeFormat(path) != nil }

// bareName returns the name of an image or a volume without its extensions.
func bareName(name string) string {
	if f := volumeFormat(name); f != nil {
		stem, _ := volume.SplitName(name, f.Extensions)
		return stem
	}
	if isImage(name) && len(name) > len(filepath.Ext(name)) {
		return name[:len(name)-len(filepath.Ext(name))]
	}
	return name
}

// IsArray reports whether a file is an array, by its name. An array has no id column:
// its rows are the items in order.
func IsArray(path string) bool { return array.FormatOf(path) != nil }

// IsFile reports whether a file is a table, an array, an image or a volume, by its name.
func IsFile(path string) bool {
	return table.IsTable(path) || IsArray(path) || isPicture(path)
}

// featureReader reads the features in a file or a folder.
type featureReader func(ctx context.Context, path string, opts *reading) (*features, error)

// readerOf returns the reader of the features of an array, a volume or a folder, by
// the name of the file, or nil for a table.
func readerOf(path string) (featureReader, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fault.Of(path, err)
	}
	if info.IsDir() {
		if tables, err := isTableFolder(path); tables || err != nil {
			return nil, err
		}
		if pictures, err := findPicture(path); err == nil && !pictures {
			if dicom := findDICOM(path); dicom != "" {
				return nil, errDICOM(path, dicom)
			}
		}
		return readImageFolder, nil
	}
	if isDICOM(path) {
		return nil, errDICOM(path, path)
	}
	if volumeFormat(path) != nil {
		return readImageFolder, nil
	}
	if IsArray(path) {
		return readArrays, nil
	}
	return nil, nil
}

// checkDuplicateFiles returns an error if a file is given twice, under any name or link, or together with a folder that
// includes it. what names the content of the files in messages.
func checkDuplicateFiles(paths []string, what string) error {
	var infos []os.FileInfo
	for i, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			info = nil // the reader reports the error
		}
		for j, other := range paths[:i] {
			msg := "this file of " + what + " is given twice"
			switch {
			case other == path:
			case info == nil || infos[j] == nil:
				continue
			case os.SameFile(info, infos[j]):
				msg += ", also as " + other
			case info.IsDir() && readWith(path, other):
				msg = "this folder of " + what + " contains " + other + ", which is given twice"
			case infos[j].IsDir() && readWith(other, path):
				msg += ", also in the folder " + other
			default:
				continue
			}
			if what == "votes" {
				msg += ": its votes would be counted twice"
			}
			return &ParseError{File: path, Msg: msg}
		}
		infos = append(infos, info)
	}
	return nil
}

// readWith reports whether a file or folder is inside a folder and is read with it. The folder may contain other files,
// such as a table next to images.
func readWith(folder, file string) bool {
	inside, ok := below(folder, file)
	if !ok {
		return false
	}
	tables, err := isTableFolder(folder)
	if err != nil {
		return false // the reader reports the error
	}
	if !tables {
		other, err := isTableFolder(file)
		return isPicture(file) || isFolder(file) && !other && err == nil
	}
	files, _ := table.FolderFiles(folder)
	for _, f := range files {
		if name, err := filepath.Rel(folder, f); err == nil && (name == inside || strings.HasPrefix(name, inside+string(filepath.Separator))) {
			return true
		}
	}
	return false
}

// below returns the path of a file relative to a folder that contains it, after resolving links.
func below(folder, file string) (rel string, ok bool) {
	var real [2]string
	for i, path := range []string{folder, file} {
		path, err := filepath.EvalSymlinks(path)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		if err != nil {
			return "", false
		}
		real[i] = path
	}
	rel, err := filepath.Rel(real[0], real[1])
	return rel, err == nil && filepath.IsLocal(rel)
}
