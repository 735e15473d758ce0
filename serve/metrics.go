package serve

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics is what Prometheus collects.
type metrics struct {
	all       *prometheus.Registry
	requests  *prometheus.CounterVec
	latency   *prometheus.HistogramVec
	rows      *prometheus.CounterVec
	refused   *prometheus.CounterVec
	abstained *prometheus.CounterVec
	batch     prometheus.Histogram
	width     *prometheus.SummaryVec
	votes     prometheus.Counter
	warnings  *prometheus.CounterVec
}

func newMetrics(r *registry) *metrics {
	m := &metrics{
		all: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "credence_requests_total",
			Help: "Requests by route, method and status."}, []string{"route", "method", "status"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "credence_request_seconds",
			Help: "Time from request to answer by route.", Buckets: prometheus.ExponentialBuckets(1e-4, 2.5, 14)}, []string{"route"}),
		rows: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "credence_rows_total",
			Help: "Items predicted."}, []string{"model"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "credence_rows_without_prediction_total",
			Help: "Items whose values could not be used."}, []string{"model"}),
		abstained: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "credence_rows_uncertain_total",
			Help: "Items whose predicted class is the most probable one with probability below 0.9."}, []string{"model"}),
		batch: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "credence_batch_rows",
			Help: "Items in a request.", Buckets: prometheus.ExponentialBuckets(1, 4, 10)}),
		width: prometheus.NewSummaryVec(prometheus.SummaryOpts{Name: "credence_interval_width",
			Help: "Width of the predicted class's interval; its mean is sum by count."}, []string{"model"}),
		votes: prometheus.NewCounter(prometheus.CounterOpts{Name: "credence_votes_total",
			Help: "Votes received and on disk."}),
		warnings: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "credence_input_warnings_total",
			Help: "Requests with values unlike those of training: outside their range, or of unknown levels."}, []string{"model"}),
	}
	m.all.MustRegister(m.requests, m.latency, m.rows, m.refused, m.abstained, m.batch, m.width, m.votes, m.warnings,
		&modelInfo{r}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// modelInfo tells which models are served, and for how long.
type modelInfo struct{ r *registry }

var (
	infoDesc = prometheus.NewDesc("credence_model_info", "A served model: always 1.", []string{"model", "version", "sha256"}, nil)
	ageDesc  = prometheus.NewDesc("credence_model_age_seconds", "Time since the model's file was written.", []string{"model", "version"}, nil)
)

// Describe implements [prometheus.Collector].
func (m *modelInfo) Describe(c chan<- *prometheus.Desc) { c <- infoDesc; c <- ageDesc }

// Collect implements [prometheus.Collector].
func (m *modelInfo) Collect(c chan<- prometheus.Metric) {
	for _, versions := range m.r.current.Load().models {
		for _, s := range versions {
			c <- prometheus.MustNewConstMetric(infoDesc, prometheus.GaugeValue, 1, s.name, s.version, s.hash)
			c <- prometheus.MustNewConstMetric(ageDesc, prometheus.GaugeValue, time.Since(s.stamp.modified).Seconds(), s.name, s.version)
		}
	}
}

// operations adds the routes of those who run the server.
func (s *Server) operations(mux *http.ServeMux) {
	h := promhttp.HandlerFor(s.metrics.all, promhttp.HandlerOpts{})
	s.route(mux, "GET /metrics", oipErrors, func(w http.ResponseWriter, r *http.Request) error {
		h.ServeHTTP(w, r)
		return nil
	})
}

// count adds predictions to the metrics.
func (s *Server) count(r *http.Request, t *told) {
	m, name := s.metrics, t.of.name
	m.batch.Observe(float64(len(t.items)))
	bad, unsure := 0, 0
	d := len(t.of.model.Classes)
	width := m.width.WithLabelValues(name)
	for j, why := range t.bad {
		if why != nil {
			bad++
			continue
		}
		k := j*d + t.predicted[j]
		if t.top != nil && t.top[k] < 0.9 {
			unsure++
		}
		if t.lower != nil && t.upper != nil {
			width.Observe(t.upper[k] - t.lower[k])
		}
	}
	m.rows.WithLabelValues(name).Add(float64(len(t.items) - bad))
	m.refused.WithLabelValues(name).Add(float64(bad))
	m.abstained.WithLabelValues(name).Add(float64(unsure))
	if len(t.warnings) > 0 {
		m.warnings.WithLabelValues(name).Inc()
	}
}
