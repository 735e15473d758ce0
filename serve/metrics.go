package serve

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"credence/internal/votelog"
	"credence/predict"
)

// metrics are the Prometheus metrics of a server.
type metrics struct {
	all      *prometheus.Registry
	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	batch    prometheus.Histogram
	votes    prometheus.Counter
	// unwritten counts votes that were rejected because they could not be written.
	unwritten prometheus.Counter

	rows, refused, far, unknown *prometheus.CounterVec
	abstained, width            *prometheus.SummaryVec
}

// newMetrics returns the metrics of a server; votes is nil if it does not accept votes.
func newMetrics(r *registry, votes *votelog.Log) *metrics {
	all := prometheus.NewRegistry()
	add := promauto.With(all)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return add.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	all.MustRegister(&modelInfo{r}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if votes != nil {
		add.NewGaugeFunc(prometheus.GaugeOpts{Name: "credence_votes_writable",
			Help: "1 if votes can be written, 0 after a failed write."}, func() float64 { return oneIf(votes.Failed() == nil) })
	}
	return &metrics{
		all:      all,
		requests: counter("credence_requests_total", "Requests by route, method and status.", "route", "method", "status"),
		latency: add.NewHistogramVec(prometheus.HistogramOpts{Name: "credence_request_seconds",
			Help: "Time from request to response by route.", Buckets: prometheus.ExponentialBuckets(1e-4, 2.5, 14)}, []string{"route"}),
		batch: add.NewHistogram(prometheus.HistogramOpts{Name: "credence_batch_rows",
			Help: "Items in a request.", Buckets: prometheus.ExponentialBuckets(1, 4, 10)}),
		votes:     counter("credence_votes_total", "Votes received and on disk.").WithLabelValues(),
		unwritten: counter("credence_votes_unwritten_total", "Votes that could not be written.").WithLabelValues(),
		rows:      counter("credence_rows_total", "Items predicted.", "model"),
		refused:   counter("credence_rows_without_prediction_total", "Items without a prediction.", "model"),
		far:       counter("credence_rows_outside_training_range_total", "Items with a value far outside the training range.", "model"),
		unknown:   counter("credence_rows_with_unknown_level_total", "Items with a category level that is not in the training data.", "model"),
		abstained: add.NewSummaryVec(prometheus.SummaryOpts{Name: "credence_abstained",
			Help: "1 for items to abstain on, by the server's rule or, without one, if p_top is below 0.9; 0 for others: sum divided by count is the share."}, []string{"model"}),
		width: add.NewSummaryVec(prometheus.SummaryOpts{Name: "credence_interval_width",
			Help: "Interval width of the predicted class: sum divided by count is the mean."}, []string{"model"}),
	}
}

// modelInfo collects the versions and ages of the served models.
type modelInfo struct{ r *registry }

var (
	infoDesc   = prometheus.NewDesc("credence_model_info", "A served model: always 1.", []string{"model", "version", "sha256"}, nil)
	brokenDesc = prometheus.NewDesc("credence_models_broken", "Models whose file cannot be read; the previous version, if any, remains in use.", nil, nil)
	ageDesc    = prometheus.NewDesc("credence_model_age_seconds", "Time since the model's file was written.", []string{"model", "version"}, nil)
)

// Describe implements [prometheus.Collector].
func (m *modelInfo) Describe(c chan<- *prometheus.Desc) { c <- infoDesc; c <- ageDesc; c <- brokenDesc }

// Collect implements [prometheus.Collector].
func (m *modelInfo) Collect(c chan<- prometheus.Metric) {
	now := m.r.current.Load()
	c <- prometheus.MustNewConstMetric(brokenDesc, prometheus.GaugeValue, float64(len(now.broken)))
	for s := range now.all() {
		c <- prometheus.MustNewConstMetric(infoDesc, prometheus.GaugeValue, 1, s.name, s.version, s.hash)
		c <- prometheus.MustNewConstMetric(ageDesc, prometheus.GaugeValue, time.Since(s.stamp.modified).Seconds(), s.name, s.version)
	}
}

// Metrics returns a handler that serves /metrics alone, without a token: for an address that only a monitoring
// system reaches.
func (s *Server) Metrics() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.all, promhttp.HandlerOpts{}))
	return mux
}

// operations adds the routes for operators of the server.
func (s *Server) operations(mux *http.ServeMux) {
	h := promhttp.HandlerFor(s.metrics.all, promhttp.HandlerOpts{})
	s.route(mux, "GET /metrics", oipErrors, func(w http.ResponseWriter, r *http.Request) error {
		h.ServeHTTP(w, r)
		return nil
	})
}

// observer returns a function that records the interval width and the abstention of an item of a model; rule reports
// whether there is an abstention rule.
func (m *metrics) observer(model string, rule bool) func(r *predict.Row) {
	for _, counter := range []*prometheus.CounterVec{m.rows, m.refused, m.far, m.unknown} {
		counter.WithLabelValues(model) // exists even if the request fails
	}
	width, abstained := m.width.WithLabelValues(model), m.abstained.WithLabelValues(model)
	return func(r *predict.Row) {
		if r.Classes == nil {
			return
		}
		width.Observe(r.Width(0))
		if rule {
			abstained.Observe(oneIf(r.Abstain(0)))
		} else if r.HasTop() {
			abstained.Observe(oneIf(r.Classes[r.Predicted].Top < 0.9))
		}
	}
}

// countItems counts the items of a request to a model.
func (m *metrics) countItems(model string, d predict.Diagnostics) {
	m.batch.Observe(float64(d.Items))
	m.rows.WithLabelValues(model).Add(float64(d.Items - d.Failed))
	m.refused.WithLabelValues(model).Add(float64(d.Failed))
	m.far.WithLabelValues(model).Add(float64(d.Unlike.Far))
	m.unknown.WithLabelValues(model).Add(float64(d.Unlike.Unknown))
}

func oneIf(truth bool) float64 {
	if truth {
		return 1
	}
	return 0
}
