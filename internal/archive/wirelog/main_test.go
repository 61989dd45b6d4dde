package wirelog_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the property tests briefly. The deep run, after changes of
// opening, repair or commit, is -run 'RandomDamage|Crashes' -rapid.checks=30000.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		if err := f.Value.Set("250"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}
