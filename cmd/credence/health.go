package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// healthOptions is the command line of credence health.
type healthOptions struct {
	addr    string
	live    bool
	quiet   bool
	timeout time.Duration
}

func newHealth() *cobra.Command {
	var o healthOptions
	cmd := newVerb("health", "Ask a server whether it is ready", "", o.run)
	f := cmd.Flags()
	f.StringVar(&o.addr, "addr", "http://127.0.0.1:8080", "`address` of the server: URL with its base path, host:port, or unix:PATH")
	f.BoolVar(&o.live, "live", false, "ask whether it runs at all, instead of whether it is ready")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print errors only")
	f.DurationVar(&o.timeout, "timeout", 4*time.Second, "maximum `time` to wait")
	return cmd
}

func (o *healthOptions) run(cmd *cobra.Command, _ []string) error {
	if o.timeout <= 0 {
		return usagef("--timeout %v: expected a time such as 4s", o.timeout)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
	defer cancel()
	client, url := http.DefaultClient, strings.TrimSuffix(o.addr, "/")
	if path, ok := strings.CutPrefix(url, "unix:"); ok {
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		}
		client, url = &http.Client{Transport: &http.Transport{DialContext: dial}}, "http://localhost"
	} else if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	route := "/v2/health/ready"
	if o.live {
		route = "/v2/health/live"
	}
	req, err := http.NewRequestWithContext(ctx, "GET", url+route, nil)
	if err != nil || req.URL.Host == "" || req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return usagef("--addr %q: expected an address such as http://127.0.0.1:8080", o.addr)
	}
	resp, err := client.Do(req)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("%s does not answer within %v", o.addr, o.timeout)
		}
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s is not healthy: status %d: %s", o.addr, resp.StatusCode, strings.TrimSpace(string(text)))
	}
	if !o.quiet {
		fmt.Fprintln(cmd.OutOrStdout(), strings.TrimSpace(string(text)))
	}
	return nil
}
