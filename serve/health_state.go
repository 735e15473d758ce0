package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"credence/monitor"
)

// healthState is the content of the state file, next to the vote file.
type healthState struct {
	Current string                 `json:"current"` // SHA-256 of the monitored model
	Models  map[string]*modelState `json:"models"`
}

// modelState is what is kept about one model.
type modelState struct {
	// Lines are the ranges of votes in the vote file, [from, to), that were cast while the model was in use; the last
	// range of the current model is open, with to = −1.
	Lines  [][2]int     `json:"lines"`
	Alarms []savedAlarm `json:"alarms,omitempty"`
}

// savedAlarm is a recorded alarm. Sent reports whether the webhook received it.
type savedAlarm struct {
	monitor.Alarm
	Sent bool `json:"sent"`
}

// mostState bounds the size of a state file, which has a few lines per model and alarm.
const mostState = 64 << 20

// readHealthState reads a state file next to a vote file with the given number of lines.
func readHealthState(r io.Reader, lines int) (healthState, error) {
	var s healthState
	text, err := io.ReadAll(io.LimitReader(r, mostState+1))
	switch {
	case err != nil:
		return s, err
	case len(text) > mostState:
		return s, fmt.Errorf("expected the state of credence serve, at most %d bytes, found more", mostState)
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("expected the state of credence serve, found %w", err)
	}
	if s.Models == nil {
		return s, errors.New(`expected the state of credence serve, found none of its "models"`)
	}
	for hash, m := range s.Models {
		if m == nil {
			return s, fmt.Errorf("model %q: expected ranges of lines, found null", hash)
		}
		if err := m.check(hash == s.Current, lines); err != nil {
			return s, fmt.Errorf("model %q: %w", hash, err)
		}
	}
	return s, nil
}

// check returns an error unless ranges increase within the lines of the vote file, with an open one only at the end of the
// current model, and there is at most one alarm of each kind.
func (m *modelState) check(current bool, lines int) error {
	last := 0
	for i, r := range m.Lines {
		open := r[1] == -1 && current && i == len(m.Lines)-1
		switch {
		case r[0] < last || !open && r[1] < r[0]:
			return fmt.Errorf("expected increasing ranges of lines, of which only the last of the current model is open, found %v", m.Lines)
		case max(r[0], r[1]) > lines:
			return fmt.Errorf("expected a vote file with at least %d votes, found %d", max(r[0], r[1]), lines)
		}
		last = r[1]
	}
	for i, a := range m.Alarms {
		switch {
		case !slices.Contains(monitor.AlarmKinds, a.Kind):
			return fmt.Errorf("alarm %d: expected one of the kinds %q, found %q", i+1, monitor.AlarmKinds, a.Kind)
		case slices.ContainsFunc(m.Alarms[:i], func(b savedAlarm) bool { return b.Kind == a.Kind }):
			return fmt.Errorf("alarm %d: expected one alarm of kind %q, found two", i+1, a.Kind)
		}
	}
	return nil
}

// use records that the model with the given hash is in use from line n on, and reports whether that is new.
func (s *healthState) use(hash string, n int) bool {
	if old := s.Models[s.Current].valid(); len(old.Lines) > 0 {
		last := &old.Lines[len(old.Lines)-1]
		switch {
		case last[1] >= 0:
		case s.Current == hash:
			return false
		default:
			last[1] = n
		}
	}
	if s.Models[hash] == nil {
		s.Models[hash] = &modelState{}
	}
	m := s.Models[hash]
	m.Lines = append(m.Lines, [2]int{n, -1})
	s.Current = hash
	return true
}

// valid returns m, or an empty state if it is nil.
func (m *modelState) valid() *modelState {
	if m == nil {
		return &modelState{}
	}
	return m
}
