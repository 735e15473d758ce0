//go:build linux

package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// receiver is where alarms are posted to. It is out of order now and then.
type receiver struct {
	addr string
	key  string

	mu       sync.Mutex
	random   *rand.Rand
	received map[string]int // by server, model and kind
	bad      []string
}

func newReceiver(seed uint64) (*receiver, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{addr: l.Addr().String(), key: "a key of the soak", random: rand.New(rand.NewPCG(seed, 5)), received: map[string]int{}}
	go func() { _ = http.Serve(l, r) }()
	return r, nil
}

func (r *receiver) url(v *server) string { return "http://" + r.addr + "/" + v.name }

// ServeHTTP implements [http.Handler].
func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	mac := hmac.New(sha256.New, []byte(r.key))
	mac.Write(body)
	var alarm struct{ SHA256, Kind string }
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err != nil: // the server was killed
		return
	case q.Header.Get("X-Credence-Signature") != "sha256="+hex.EncodeToString(mac.Sum(nil)):
		r.bad = append(r.bad, "an alarm has a wrong signature")
	case json.Unmarshal(body, &alarm) != nil || alarm.SHA256 == "" || alarm.Kind == "":
		r.bad = append(r.bad, fmt.Sprintf("an alarm has another form than expected: %.200s", body))
	case r.random.IntN(4) == 0:
		http.Error(w, "out of order", http.StatusServiceUnavailable)
	default:
		r.received[q.URL.Path+" "+alarm.SHA256+" "+alarm.Kind]++
	}
}

// checkAlarms compares the alarms that a server recorded as sent with those that arrived, and waits for alarms of the
// current model that were not sent yet.
func (s *soak) checkAlarms(v *server) {
	var missing string
	for range 60 {
		text, err := os.ReadFile(v.log + ".monitor.json")
		if err != nil {
			s.failf("%v", err)
			return
		}
		var state struct {
			Current string
			Models  map[string]struct {
				Alarms []struct {
					Kind string
					Sent bool
				}
			}
		}
		if err := json.Unmarshal(text, &state); err != nil {
			s.failf("%s.monitor.json: %v", v.log, err)
			return
		}
		missing, v.recorded, v.unsent = "", 0, 0
		s.alarms.mu.Lock()
		for hash, m := range state.Models {
			for _, a := range m.Alarms {
				v.recorded++
				arrived := s.alarms.received["/"+v.name+" "+hash+" "+a.Kind] > 0
				if !arrived {
					v.unsent++
				}
				if !arrived && (a.Sent || hash == state.Current) {
					missing = fmt.Sprintf("alarm %s about model %.12s, recorded as sent: %v", a.Kind, hash, a.Sent)
				}
			}
		}
		s.alarms.mu.Unlock()
		if missing == "" {
			break
		}
		time.Sleep(time.Second)
	}
	if missing != "" {
		s.failf("%s: never arrived: %s", v.name, missing)
	}
	s.alarms.mu.Lock()
	defer s.alarms.mu.Unlock()
	for _, text := range s.alarms.bad {
		s.failf("%s", text)
	}
	s.alarms.bad = nil
}
