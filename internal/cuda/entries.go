package cuda

import "bytes"

// entries returns the names of the kernels in PTX: ".visible .entry name(".
func entries(ptx []byte) []string {
	var list []string
	mark := []byte(".entry ")
	for {
		_, rest, found := bytes.Cut(ptx, mark)
		if !found {
			return list
		}
		name, after, _ := bytes.Cut(rest, []byte("("))
		list = append(list, string(bytes.TrimSpace(name)))
		ptx = after
	}
}
