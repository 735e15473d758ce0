package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"credence/run"
	"credence/serve"
)

// Files of the demonstration that the page shows and writes.
const (
	demoFreshItems = "fresh-items.csv"
	demoFreshVotes = "fresh-votes.csv"
	demoNewVotes   = "new-votes.csv"
	demoOldVotes   = "new-votes-old.csv"
)

// made reports whether the folder holds a demonstration.
func (o *demoOptions) made() bool {
	folder := run.Folder(o.out)
	return folder.Has(run.ModelFile) && folder.Has(demoFreshItems) && folder.Has(demoFreshVotes)
}

// setVotesAside renames what was voted on the items of an earlier demonstration: those of a new one may
// have the same names and are others.
func (o *demoOptions) setVotesAside(out io.Writer) error {
	folder := run.Folder(o.out)
	if !folder.Has(demoNewVotes) {
		return nil
	}
	if err := os.Rename(folder.Path(demoNewVotes), folder.Path(demoOldVotes)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "credence: votes on the earlier items are now in %s\n", folder.Path(demoOldVotes))
	return err
}

// show serves the page of the demonstration.
func (o *demoOptions) show(cmd *cobra.Command) error {
	folder := run.Folder(o.out)
	s := serveOptions{addr: o.addr, anyPort: true, logForm: "text", logLevel: "warn"}
	s.Options = serve.Options{Path: o.out, Votes: folder.Path(demoNewVotes),
		Queue: serve.Queue{Items: []string{folder.Path(demoFreshItems)}, Earlier: []string{folder.Path(demoFreshVotes)}}}
	if !o.noOpen {
		s.started = openBrowser
	}
	return s.serve(cmd)
}

// openBrowser shows an address in the reader's browser, if there is one. The address is printed
// anyway, so that it does not matter whether this works.
func openBrowser(url string) {
	var cmd *exec.Cmd
	switch {
	case runtime.GOOS == "darwin":
		cmd = exec.Command("open", url)
	case runtime.GOOS == "windows":
		cmd = exec.Command("rundll32", "url.dll,FileProtocolHandler", url)
	case os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != "":
		cmd = exec.Command("xdg-open", url)
	default:
		return
	}
	if cmd.Start() == nil {
		go cmd.Wait()
	}
}
