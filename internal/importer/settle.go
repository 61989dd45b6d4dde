package importer

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/stenohq/steno/pkg/events"
)

// settle decides who keeps a session's id: of files that feed the same agent
// log, the one named after the session, else the one whose run the log has,
// else the first by name. The others publish under an id of their own.
func (p *Planner) settle(ctx context.Context, jobs []*Job) ([]*Job, error) {
	rank := make(map[*Job]int, len(jobs))
	for _, j := range jobs {
		r, err := p.rank(ctx, j)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", j.Path, err)
		}
		rank[j] = r
	}
	byClaim := slices.Clone(jobs)
	slices.SortStableFunc(byClaim, func(a, b *Job) int {
		return cmp.Or(cmp.Compare(rank[a], rank[b]), cmp.Compare(a.Path, b.Path))
	})
	for _, j := range byClaim {
		o := owner{j.Source.Session, j.Source.agent()}
		holder := p.owners[o]
		switch {
		case holder != nil && holder.Run != j.Run, holder == nil && rank[j] == rankTaken:
			j.Source.PublishAs = ownID(j)
		case holder == nil:
			p.owners[o] = j
		}
	}
	return jobs, p.settleSides(jobs)
}

const (
	rankNamed = iota // the file is named after the session
	rankHeld         // the log has its run
	rankFree         // the log is empty
	rankTaken        // the log has another run
)

func (p *Planner) rank(ctx context.Context, j *Job) (int, error) {
	agent := j.Source.agent()
	if j.Source.Name == string(j.Source.Session) || agent != events.MainAgent {
		return rankNamed, nil
	}
	if p.Runs == nil {
		return rankFree, nil
	}
	state, err := p.Runs.Run(ctx, j.Source.Session, agent, j.Run)
	switch {
	case err != nil:
		return 0, err
	case state.Next > 1:
		return rankHeld, nil
	case state.Current != "":
		return rankTaken, nil
	}
	return rankFree, nil
}

// settleSides lets a main file win over the file of a sub-agent whose lines it
// has too.
func (p *Planner) settleSides(jobs []*Job) error {
	for _, j := range jobs {
		o := owner{j.Source.Session, j.Source.agent()}
		main := p.owners[owner{o.session, events.MainAgent}]
		if o.agent == events.MainAgent || main == nil || j.Source.PublishAs != "" {
			continue
		}
		feeds, err := main.feeds(o.agent)
		if err != nil {
			return fmt.Errorf("%s: %w", main.Path, err)
		}
		if feeds {
			j.Source.PublishAs = ownID(j)
		}
	}
	return nil
}

// feeds says whether the file has events of the agent.
func (j *Job) feeds(agent events.AgentID) (bool, error) {
	s := NewStream(j.Format, j.Source)
	err := eachChunk(j.Path, func(chunk []byte) bool {
		_, _ = s.Write(chunk)
		s.Events()
		return s.logs[agent] == nil
	})
	s.AtEnd()
	return s.logs[agent] != nil, err
}

// ownID is the session id of a file whose own id is taken.
func ownID(j *Job) events.SessionID {
	suffix := "." + j.Run[:6]
	id := string(j.Source.Session)
	return events.SessionID(id[:min(len(id), events.MaxID-len(suffix))] + suffix)
}
