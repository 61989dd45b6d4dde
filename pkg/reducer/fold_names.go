package reducer

// maxNames bounds the ids that are remembered for others.
const maxNames = 1000

// foldNames remembers which id stands for another, newest maxNames only.
type foldNames struct {
	to    map[string]string
	order []string // names, oldest first
}

func (n *foldNames) get(name string) string { return n.to[name] }

func (n *foldNames) set(name, to string) {
	if n.to == nil {
		n.to = map[string]string{}
	}
	if _, known := n.to[name]; !known {
		if len(n.order) >= maxNames {
			delete(n.to, n.order[0])
			n.order = append(n.order[:0], n.order[1:]...)
		}
		n.order = append(n.order, name)
	}
	n.to[name] = to
}
