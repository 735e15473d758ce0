package backbone

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// processor is the part of preprocessor_config.json, the file of Hugging Face's image processors, that is used.
type processor struct {
	Type          string          `json:"image_processor_type"`
	OldType       string          `json:"feature_extractor_type"`
	DoResize      *bool           `json:"do_resize"`
	Size          json.RawMessage `json:"size"`
	CropPct       float64         `json:"crop_pct"`
	Resample      *int            `json:"resample"`
	DoCenterCrop  bool            `json:"do_center_crop"`
	CropSize      json.RawMessage `json:"crop_size"`
	DoRescale     *bool           `json:"do_rescale"`
	RescaleFactor float64         `json:"rescale_factor"`
	DoNormalize   *bool           `json:"do_normalize"`
	Mean          []float64       `json:"image_mean"`
	SD            []float64       `json:"image_std"`
	DoPad         bool            `json:"do_pad"`
	DoThumbnail   bool            `json:"do_thumbnail"`
	DoFlip        bool            `json:"do_flip_channel_order"`
}

// parseProcessor returns the steps that preprocessor_config.json describes.
func parseProcessor(text []byte) (*Settings, error) {
	var p processor
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("this is not a configuration of an image processor: %w", err)
	}
	for name, set := range map[string]bool{"do_pad": p.DoPad, "do_thumbnail": p.DoThumbnail, "do_flip_channel_order": p.DoFlip} {
		if set {
			return nil, fmt.Errorf("%s is not supported: set it to false, or give the steps as options", name)
		}
	}
	kind := p.Type + p.OldType
	s := &Settings{Filter: "bilinear", Scale: 1. / 255, Mean: []float64{0, 0, 0}, SD: []float64{1, 1, 1}}
	if strings.Contains(kind, "CLIP") {
		s.Filter = "bicubic"
	}
	if p.Resample != nil {
		if s.Filter = resampleNames[*p.Resample]; s.Filter == "" {
			return nil, fmt.Errorf("resample %d is not supported: expected 1 (lanczos), 2 (bilinear) or 3 (bicubic)", *p.Resample)
		}
	}
	if p.DoRescale != nil && !*p.DoRescale {
		s.Scale = 1
	} else if p.RescaleFactor != 0 {
		s.Scale = p.RescaleFactor
	}
	if p.DoNormalize == nil || *p.DoNormalize {
		s.Mean, s.SD = p.Mean, p.SD
	}
	if err := p.sizes(s, kind); err != nil {
		return nil, err
	}
	if s.Scale <= 0 {
		return nil, fmt.Errorf("expected a rescale_factor above 0, found %v", s.Scale)
	}
	return s, nil
}

// resampleNames are the filters by their numbers in Pillow.
var resampleNames = map[int]string{1: "lanczos", 2: "bilinear", 3: "bicubic"}

// sizes sets what images are resized and cropped to.
func (p *processor) sizes(s *Settings, kind string) error {
	if (p.DoResize == nil || *p.DoResize) && p.Size != nil {
		// A number is the shorter side for some processors, and both sides for the others.
		square := !strings.Contains(kind, "CLIP") && !strings.Contains(kind, "ConvNext")
		var err error
		if s.Resize, err = parseSize(p.Size, square); err != nil {
			return fmt.Errorf("size: %w", err)
		}
	}
	if p.DoCenterCrop {
		crop, err := parseSize(p.CropSize, true)
		if err != nil {
			return fmt.Errorf("crop_size: %w", err)
		}
		s.Crop = crop
	}
	// ConvNext's processor crops the center of a larger image, unless that has 384 pixels or more.
	if strings.Contains(kind, "ConvNext") && len(s.Resize) == 1 {
		n := s.Resize[0]
		if n >= 384 {
			s.Resize = []int{n, n}
			return nil
		}
		share := p.CropPct
		if share == 0 {
			share = 224. / 256
		}
		if share < 0.1 || share > 1 {
			return fmt.Errorf("expected a crop_pct from 0.1 to 1, found %v", share)
		}
		s.Resize, s.Crop = []int{int(float64(n) / share)}, []int{n, n}
	} else if p.CropPct != 0 {
		return errors.New("crop_pct is supported for ConvNext's image processor alone: give the steps as options")
	}
	return nil
}

// parseSize reads 224, {"shortest_edge": 224} or {"height": 224, "width": 224}. A number alone is two lengths if square.
func parseSize(text json.RawMessage, square bool) ([]int, error) {
	var n int
	if json.Unmarshal(text, &n) == nil && n > 0 {
		if square {
			return []int{n, n}, nil
		}
		return []int{n}, nil
	}
	var size map[string]int
	if err := json.Unmarshal(text, &size); err == nil {
		switch {
		case len(size) == 1 && size["shortest_edge"] > 0:
			return []int{size["shortest_edge"]}, nil
		case len(size) == 2 && size["height"] > 0 && size["width"] > 0:
			return []int{size["height"], size["width"]}, nil
		}
	}
	return nil, fmt.Errorf("expected a number, a shortest_edge, or height and width, found %.80s", text)
}
