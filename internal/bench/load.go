package bench

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Load sends one request repeatedly to a server, over persistent connections.
type Load struct {
	URL         string // of the server, without a path
	Path        string
	Kind        string // content type
	Accept      string // content type of the response; "" for any
	Body        []byte
	Connections int
	Rate        float64 // requests per second, at fixed times; 0 sends the next request after a response
	Requests    int     // number of requests; 0 means that Duration decides
	Duration    time.Duration
}

// Loaded is the result of a load. Response times count from the scheduled time of a request, so that they
// include the time that a slow server makes later requests wait.
type Loaded struct {
	Requests   int
	Seconds    float64
	P50, P99   time.Duration
	CPU        time.Duration // used by the server's process, from its metrics
	MemoryFrom int64         // resident bytes of the server after a tenth of the requests
	MemoryTo   int64         // and after the last
}

// Run sends the load.
func (l *Load) Run(ctx context.Context) (*Loaded, error) {
	u, err := url.Parse(l.URL)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%q: expected http://HOST:PORT", l.URL)
	}
	request := l.request(u)
	conns := make([]net.Conn, l.Connections)
	for i := range conns {
		if conns[i], err = (&net.Dialer{}).DialContext(ctx, "tcp", u.Host); err != nil {
			return nil, err
		}
		defer conns[i].Close()
	}
	defer context.AfterFunc(ctx, func() {
		for _, c := range conns {
			c.SetDeadline(time.Now())
		}
	})()
	before, err := l.server(ctx)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	var sent atomic.Int64
	out, took, errs := &Loaded{}, make([][]time.Duration, len(conns)), make([]error, len(conns))
	var wg sync.WaitGroup
	for i, c := range conns {
		wg.Go(func() { took[i], errs[i] = l.connection(ctx, c, request, start, &sent, out) })
	}
	wg.Wait()
	out.Seconds = time.Since(start).Seconds()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	after, err := l.server(ctx)
	if err != nil {
		return nil, err
	}
	out.CPU, out.MemoryTo = after.cpu-before.cpu, after.memory
	all := slices.Concat(took...)
	slices.Sort(all)
	if len(all) == 0 {
		return nil, errors.New("no request completed in the given time")
	}
	out.Requests = cmp.Or(l.Requests, len(all))
	out.P50, out.P99 = all[len(all)/2], all[min(len(all)-1, int(math.Ceil(0.99*float64(len(all)))))]
	return out, nil
}

// request returns the request that is sent each time.
func (l *Load) request(u *url.URL) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST %s%s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n", strings.TrimSuffix(u.Path, "/"), l.Path, u.Host, l.Kind, len(l.Body))
	if l.Accept != "" {
		fmt.Fprintf(&b, "Accept: %s\r\n", l.Accept)
	}
	b.WriteString("\r\n")
	b.Write(l.Body)
	return b.Bytes()
}

// connection sends requests over one connection, and returns how long each took.
func (l *Load) connection(ctx context.Context, c net.Conn, request []byte, start time.Time, sent *atomic.Int64, out *Loaded) ([]time.Duration, error) {
	in := bufio.NewReaderSize(c, 1<<14)
	var list []time.Duration
	for {
		n := sent.Add(1) - 1
		if l.Requests > 0 && n >= int64(l.Requests) {
			return list, nil
		}
		begun := time.Now()
		if l.Rate > 0 {
			begun = start.Add(time.Duration(float64(n) / l.Rate * 1e9))
			time.Sleep(time.Until(begun))
		}
		if l.Requests == 0 && begun.Sub(start) >= l.Duration {
			return list, nil
		}
		_, err := c.Write(request)
		if err == nil {
			err = readResponse(in)
		}
		if err != nil {
			return nil, cmp.Or(ctx.Err(), err) // a canceled context closes the connection
		}
		// With a fixed number of requests memory is measured, which a growing list would distort.
		if l.Requests == 0 || n%100 == 0 {
			list = append(list, time.Since(begun))
		}
		if l.Requests > 0 && n == int64(l.Requests/10) {
			now, err := l.server(ctx)
			if err != nil {
				return nil, err
			}
			out.MemoryFrom = now.memory // by this goroutine alone
		}
	}
}

// readResponse reads a response and returns an error unless it is successful.
func readResponse(in *bufio.Reader) error {
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 500))
		return fmt.Errorf("the server responded %s: %s", resp.Status, bytes.TrimSpace(text))
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// serverState has the metrics of a server's process.
type serverState struct {
	cpu    time.Duration
	memory int64
}

// server fetches the metrics. A server without metrics has the zero state.
func (l *Load) server(ctx context.Context) (s serverState, err error) {
	req, err := http.NewRequestWithContext(ctx, "GET", strings.TrimSuffix(l.URL, "/")+"/metrics", nil)
	if err != nil {
		return s, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return s, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		name, text, _ := strings.Cut(lines.Text(), " ")
		x, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil:
		case name == "process_cpu_seconds_total":
			s.cpu = time.Duration(x * 1e9)
		case name == "process_resident_memory_bytes":
			s.memory = int64(x)
		}
	}
	return s, lines.Err()
}
