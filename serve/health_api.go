package serve

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"

	"credence/monitor"
)

// apiHealth adds the route of the monitor.
func (s *Server) apiHealth(api huma.API) {
	op := operation("models", "get-health", "GET", "/health", "Get the evidence from posted votes that they no longer follow the model",
		"Evidence is odds: under a correct model, the chance that it ever exceeds 20 is at most 1/20, however often one looks.")
	op.Responses = map[string]*huma.Response{"200": {Description: "the report of credence monitor --json, with advice",
		Content: map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: "object"}}}}}
	registerBody(api, op, s.getHealth)
}

// healthBody is the report on the health of a model.
type healthBody struct {
	Model  string `json:"model"`
	SHA256 string `json:"sha256"`
	*monitor.Report
	LeftOut monitor.LeftOut `json:"left_out"`
	// Delays is null until the simulation, which the first request starts, is done.
	Delays []monitor.Delay `json:"delays"`
	Advice []string        `json:"advice"`
}

func (s *Server) getHealth(context.Context, *struct{}) (json.RawMessage, error) {
	h := s.health
	if h == nil {
		return nil, failf(http.StatusNotFound, "this server monitors no model: start it with --items FILE and --vote-log FILE")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.failed != nil:
		return nil, failf(http.StatusConflict, "monitoring failed: %w", h.failed)
	case h.monitor == nil:
		return nil, failf(http.StatusServiceUnavailable, "items are being predicted")
	}
	b := healthBody{Model: h.of.of.name, SHA256: h.of.of.hash, Report: h.monitor.Report(400), LeftOut: h.leftOut(), Delays: h.delays}
	b.Advice = b.advice()
	if !h.asked && h.monitor.Votes() > 0 {
		h.asked = true
		classes, dists, o, of := h.of.of.model.Classes, h.monitor.Dists(100), h.options.Options, h.of
		h.idle.Go(func() {
			list, err := monitor.Delays(h.ctx, classes, dists, o, monitor.DelayOptions{Streams: 20, Most: 2000})
			h.mu.Lock()
			defer h.mu.Unlock()
			if err == nil && h.of == of {
				h.delays = list
			}
		})
	}
	return json.Marshal(&b)
}

// advice returns what to do about the findings.
func (b *healthBody) advice() []string {
	list := []string{}
	for _, a := range b.Alarms {
		switch a.Kind {
		case "votes":
			list = append(list, "Look at some of the items, then either train on the later votes (credence train --from RUN) or, if only the level or the spread changed, run credence recalibrate RUN --votes FILE.")
		case "rater":
			if len(b.Raters) > 0 {
				list = append(list, fmt.Sprintf("Ask rater %s: %s.", b.Raters[0].Name, b.Raters[0].Text))
			}
		case "inputs":
			list = append(list, "Check how the features are made: units, missing values and new levels.")
		}
	}
	return list
}

// healthInfo collects the evidence for Prometheus.
type healthInfo struct{ h *health }

var (
	evidenceDesc = prometheus.NewDesc("credence_evidence", "Evidence that votes no longer follow the model, as odds beyond the tolerated bias; group all is the combined evidence that raises alarms.", []string{"model", "group"}, nil)
	raterDesc    = prometheus.NewDesc("credence_rater_evidence", "Evidence that a rater votes otherwise than the model predicts, of all raters together.", []string{"model"}, nil)
	inputDesc    = prometheus.NewDesc("credence_input_evidence", "Evidence that inputs are unlike those of training more often than expected.", []string{"model"}, nil)
	alarmDesc    = prometheus.NewDesc("credence_alarm", "1 if an alarm of this kind was raised about the model.", []string{"model", "kind"}, nil)
)

// Describe implements [prometheus.Collector].
func (c *healthInfo) Describe(d chan<- *prometheus.Desc) {
	d <- evidenceDesc
	d <- raterDesc
	d <- inputDesc
	d <- alarmDesc
}

// Collect implements [prometheus.Collector].
func (c *healthInfo) Collect(m chan<- prometheus.Metric) {
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	if c.h.monitor == nil {
		return
	}
	name, r := c.h.of.of.name, c.h.monitor.Report(1)
	gauge := func(d *prometheus.Desc, x float64, labels ...string) {
		m <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, x, append([]string{name}, labels...)...)
	}
	gauge(evidenceDesc, r.Evidence.Tolerant, "all")
	for _, g := range r.Groups {
		gauge(evidenceDesc, g.Tolerant, g.Name)
	}
	gauge(raterDesc, r.RaterEvidence.Tolerant)
	if r.Inputs != nil {
		gauge(inputDesc, r.Inputs.Evidence)
	}
	for _, kind := range monitor.AlarmKinds {
		raised := 0.0
		for _, a := range r.Alarms {
			raised = max(raised, oneIf(a.Kind == kind))
		}
		gauge(alarmDesc, raised, kind)
	}
}

// alarmMessage is the body of a request to the webhook.
type alarmMessage struct {
	Model  string `json:"model"`
	SHA256 string `json:"sha256"`
	monitor.Alarm
}

// deliver sends recorded alarms to the webhook until it accepts them, also after a restart.
func (h *health) deliver() {
	wait := time.Second
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-time.After(wait):
		}
		if err := h.sendNext(); err != nil {
			h.server.options.Log.Warn("sending an alarm failed", "error", err, "next_try", wait)
			wait = min(2*wait, 5*time.Minute)
		} else {
			wait = time.Second
		}
	}
}

// sendNext sends the first alarm of the current model that was not sent.
func (h *health) sendNext() error {
	h.mu.Lock()
	var message *alarmMessage
	var at *savedAlarm
	if h.of != nil {
		mine := h.state.Models[h.of.of.hash].valid()
		for i := range mine.Alarms {
			if a := &mine.Alarms[i]; !a.Sent && at == nil {
				at, message = a, &alarmMessage{h.of.of.name, h.of.of.hash, a.Alarm}
			}
		}
	}
	h.mu.Unlock()
	if message == nil {
		return nil
	}
	if err := h.post(message); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.state.Models[message.SHA256].Alarms {
		if a := &h.state.Models[message.SHA256].Alarms[i]; a.Kind == message.Kind {
			a.Sent, h.unsaved = true, true
		}
	}
	return h.save()
}

// post sends a message, signed by the key if there is one: the header X-Credence-Signature is sha256= and the HMAC of
// the body in hexadecimal.
func (h *health) post(message *alarmMessage) error {
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(h.ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.options.AlarmURL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "credence/"+cmp.Or(strings.Fields(h.server.options.Version + " dev")[0], "dev"))
	if len(h.options.AlarmKey) > 0 {
		mac := hmac.New(sha256.New, h.options.AlarmKey)
		mac.Write(body)
		req.Header.Set("X-Credence-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	}
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<16))
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("expected status 2xx from the alarm URL, found %s", response.Status)
	}
	return nil
}
