package serve

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// The extensions of the Open Inference Protocol that Triton's clients call: the configuration of a model, and
// statistics of its inference requests.

// tritonTensor describes an input or output in a configuration, without the dimension of the items.
type tritonTensor struct {
	Name     string `json:"name"`
	DataType string `json:"data_type"`
	Dims     []int  `json:"dims"`
}

// modelConfig returns the configuration of a model: its inputs and outputs, and the largest batch.
func (s *Server) modelConfig(w http.ResponseWriter, r *http.Request, m *served) error {
	list := func(all []tensorInfo) []tritonTensor {
		out := []tritonTensor{}
		for _, t := range all {
			kind := "TYPE_" + t.Datatype
			if t.Datatype == "BYTES" {
				kind = "TYPE_STRING"
			}
			dims := t.Shape[1:]
			if len(dims) == 0 {
				dims = []int{1}
			}
			out = append(out, tritonTensor{t.Name, kind, dims})
		}
		return out
	}
	return writeJSON(w, map[string]any{"name": m.name, "platform": "", "backend": "credence", "max_batch_size": s.options.Limits.Rows,
		"version_policy": map[string]any{"all": map[string]any{}}, "input": list(m.inputs()), "output": list(m.outputs()),
		"parameters": map[string]any{"level": map[string]string{"string_value": fmt.Sprint(s.options.Level)}}})
}

// inferStats counts the inference requests of a version of a model.
type inferStats struct {
	good, bad, goodTime, badTime, items, last atomic.Int64 // times in nanoseconds; last in milliseconds since 1970
}

// inferred returns the counters of a version of a model.
func (s *Server) inferred(m *served) *inferStats {
	x, _ := s.stats.LoadOrStore([2]string{m.name, m.version}, &inferStats{})
	return x.(*inferStats)
}

// countInfer counts an inference request.
func (s *Server) countInfer(m *served, start time.Time, items int, err error) {
	c, took := s.inferred(m), time.Since(start).Nanoseconds()
	c.last.Store(time.Now().UnixMilli())
	if err != nil {
		c.bad.Add(1)
		c.badTime.Add(took)
		return
	}
	c.good.Add(1)
	c.goodTime.Add(took)
	c.items.Add(int64(items))
}

// statsOf returns the statistics of a version of a model. All time is that of the whole request: requests do not wait
// in a queue, and input and output are not timed apart.
func (s *Server) statsOf(m *served) map[string]any {
	c := s.inferred(m)
	times := func(n, ns int64) map[string]int64 { return map[string]int64{"count": n, "ns": ns} }
	return map[string]any{"name": m.name, "version": m.version, "last_inference": c.last.Load(), "inference_count": c.items.Load(), "execution_count": c.good.Load(),
		"inference_stats": map[string]any{"success": times(c.good.Load(), c.goodTime.Load()), "fail": times(c.bad.Load(), c.badTime.Load()),
			"queue": times(c.good.Load(), 0), "compute_input": times(c.good.Load(), 0), "compute_infer": times(c.good.Load(), c.goodTime.Load()),
			"compute_output": times(c.good.Load(), 0), "cache_hit": times(0, 0), "cache_miss": times(0, 0)},
		"batch_stats": []any{}, "memory_usage": []any{}, "response_stats": map[string]any{}}
}

// modelStats returns the statistics of one version of a model.
func (s *Server) modelStats(w http.ResponseWriter, r *http.Request, m *served) error {
	return writeJSON(w, map[string]any{"model_stats": []any{s.statsOf(m)}})
}

// allStats returns the statistics of all models.
func (s *Server) allStats(w http.ResponseWriter, r *http.Request) error {
	list := []any{}
	for m := range s.registry.current.Load().all() {
		list = append(list, s.statsOf(m))
	}
	return writeJSON(w, map[string]any{"model_stats": list})
}
