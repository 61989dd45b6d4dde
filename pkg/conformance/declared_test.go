package conformance

// declaration says why lines of the list are not tested under their own names.
type declaration struct{ ids, reason string }

func declarations() []declaration {
	return []declaration{
		{
			"S26 S27",
			"there is no store of agents that hands out objects: the roster is derived from descriptors (pkg/fold, TestRoster) and told by agents.update",
		},
		{
			"P9 N1 N5 N6 N7 N9 N10 N11 N12 N13 N14 N15 N16 N17 R4 R5 R6 R7 R8 R9 R11 R14 R15 B6 B7 B8 B10 C1",
			"live and cold are one fold over one log, so there is no back-fill, heal, overlay or second numbering: folding from the start and from any checkpoint gives the same (pkg/fold, TestRandomLogs)",
		},
		{
			"C3",
			"the tower feature is not ours; its badge is P34",
		},
		{
			"J1 J2 R1 R2 R3 R10 R12 R13 R16 R17 R18 R19 R20 R21 R22",
			"needs a running gateway: internal/gateway tests pages, catch-up, rosters and refusals end to end",
		},
		{
			"R23 R24 R25 R26 R27 R28 R29 R30 R31 R32 R33 R34",
			"the user-messages and plan routes of the gateway, a later step",
		},
		{
			"B1 B2 B3 B4 B5 B9 B11 B12 B13 B14 B15 B16 B17 B18 B19 B21 B24 B25 B26 B27 B28",
			"needs a running gateway: internal/gateway tests subscriptions, baselines and cursors end to end; the rules by themselves are L1 to L11 and TestClientRule",
		},
		{
			"B20 B22 B23 W8 W10 W11 W35",
			"there is no projected legacy event stream beside the transcript, no agent filter on it and no debug feed",
		},
		{
			"W7 W12 W13 W14 W15 W17 W18 W19 W21 W22 W23 W24 W25 W26 W27 W28 W29 W30 W31 W32 W33 W34",
			"needs a connection: internal/gateway; the frames by themselves are TestControl and TestControlRefuses",
		},
		{
			"W20",
			"differs on purpose: frames of clients that declared prev_seq are merged, TestMergeLeavesTheSameState",
		},
	}
}
