package topology

import "fmt"

// MinServer is the oldest server that has all that Steno relies on.
const MinServer = "2.15.2"

// VersionError says that the server is too old.
type VersionError struct{ Version string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("the NATS server is version %s, Steno needs %s or newer: update the server", e.Version, MinServer)
}

// checkVersion accepts what it cannot read: the server's settings are compared
// as well.
func checkVersion(version string) error {
	is, ok := parseVersion(version)
	if need, _ := parseVersion(MinServer); ok && older(is, need) {
		return &VersionError{Version: version}
	}
	return nil
}

func parseVersion(s string) (v [3]int, ok bool) {
	n, err := fmt.Sscanf(s, "%d.%d.%d", &v[0], &v[1], &v[2])
	return v, err == nil && n == 3
}

func older(a, b [3]int) bool {
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}
