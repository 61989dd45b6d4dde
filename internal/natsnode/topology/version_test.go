package topology

import (
	"errors"
	"strings"
	"testing"
)

func TestServerVersion(t *testing.T) {
	for version, ok := range map[string]bool{
		"2.15.2": true, "2.15.3": true, "2.16.0": true, "2.16.0-dev": true, "3.0.0": true, "2.15.2-RC.1": true,
		"2.15.1": false, "2.14.9": false, "2.9.25": false, "1.4.1": false, "2.11.0-preview.2": false,
		"": true, "custom": true, // the settings will tell
	} {
		err := checkVersion(version)
		if (err == nil) != ok {
			t.Errorf("%q: %v", version, err)
		}
		if old, is := errors.AsType[*VersionError](err); !ok && (!is || old.Version != version || !strings.Contains(err.Error(), MinServer)) {
			t.Errorf("%q: %v", version, err)
		}
	}
}
