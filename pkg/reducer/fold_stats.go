package reducer

// Stats are the counters of an agent, for lists of sessions and for pacing.
type Stats struct {
	Turns        int // not undone
	RunningTurns int
	RunningTools int
	Pending      int // interactions that wait for a person

	InputTokens, OutputTokens, CachedTokens, Cost float64 // over all steps ever

	FirstPrompt string // at most 200 bytes
}

// maxTitle bounds the prompt that is kept for titles, in bytes.
const maxTitle = 200

func (s *Stats) turnChanged(old, now *Turn) {
	if old.State != TurnRunning && now.State == TurnRunning {
		s.RunningTurns++
	}
	if old.State == TurnRunning && now.State != TurnRunning {
		s.RunningTurns--
	}
	if s.FirstPrompt == "" && now.Prompt.V != "" && now.Origin.Kind == OriginUser {
		head, _ := cutText(now.Prompt.V, maxTitle)
		s.FirstPrompt = string([]byte(head))
	}
}

func (s *Stats) stepChanged(old, now *Step) {
	var was, is TurnUsage
	was.add(old)
	is.add(now)
	s.InputTokens += is.InputTokens.V - was.InputTokens.V
	s.OutputTokens += is.OutputTokens.V - was.OutputTokens.V
	s.CachedTokens += is.CachedTokens.V - was.CachedTokens.V
	s.Cost += is.Cost.V - was.Cost.V
}

// Stats returns the counters.
func (f *Fold) Stats() Stats { return f.stats }

// LastTurn returns the header of the newest turn held, nil when there is none.
func (f *Fold) LastTurn() *Turn {
	if len(f.turns) == 0 {
		return nil
	}
	return f.turns[len(f.turns)-1].head
}

// Goal returns what the agent works towards, nil when it has none.
func (f *Fold) Goal() *Goal { return f.meta.Goal }
