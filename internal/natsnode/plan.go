package natsnode

import "github.com/stenohq/steno/internal/natsnode/topology"

// minEventBytes is the least an event stream is limited to.
const minEventBytes = 256 << 20

// Plan is the embedded topology as this node should have it when it is made:
// its event stream may fill half of what the disk has free now. A full stream
// pushes back on publishers; a full disk stops the whole server.
func (n *Node) Plan() (topology.Plan, error) {
	p := topology.Embedded()
	free, err := freeBytes(n.dir)
	if err != nil {
		return p, err
	}
	p.EventBytes = min(max(free/2, minEventBytes), topology.DefaultEventBytes)
	return p, nil
}
