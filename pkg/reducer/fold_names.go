package reducer

// The bounds of the ids that are remembered for others.
const (
	maxNames     = 1000
	maxNameBytes = 256 << 10
)

// foldNames remembers which id stands for another, the newest within the
// bounds only: ids come from payloads and have any length.
type foldNames struct {
	to    map[string]string
	order []string // names, oldest first
	bytes int      // of all names and what they stand for
}

func (n *foldNames) get(name string) string { return n.to[name] }

func (n *foldNames) set(name, to string) {
	if n.to == nil {
		n.to = map[string]string{}
	}
	old, known := n.to[name]
	if known {
		n.bytes -= len(old)
	} else {
		n.order = append(n.order, name)
		n.bytes += len(name)
	}
	n.to[name] = to
	n.bytes += len(to)
	for len(n.order) > maxNames || n.bytes > maxNameBytes {
		oldest := n.order[0]
		n.bytes -= len(oldest) + len(n.to[oldest])
		delete(n.to, oldest)
		n.order = append(n.order[:0], n.order[1:]...)
	}
}
