package importer

import "testing"

func TestWithoutBytes(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"nothing to leave out", `{"a":[1,"x"]}`, `{"a":[1,"x"]}`},
		{"a source", `[{"source":{"type":"base64","media_type":"image/png","data":"AAEC"}}]`, `[{"source":{"type":"base64","media_type":"image/png","size":3}}]`},
		{"a member of that name", `{"file":{"base64":"AAECAw=="}}`, `{"file":{"size":4}}`},
		{"a data URL", `{"image_url":"data:image/png;base64,AAEC"}`, `{"image_url":"data:image/png;3 bytes"}`},
		{"an image of MCP", `{"type":"image","data":"AAEC","mimeType":"image/png"}`, `{"type":"image","size":3,"mimeType":"image/png"}`},
		{"a sound of MCP", `{"type":"audio","data":"AAEC","mimeType":"audio/wav"}`, `{"type":"audio","size":3,"mimeType":"audio/wav"}`},
		{"a resource of MCP", `{"resource":{"uri":"u","mimeType":"image/png","blob":"AAEC"}}`, `{"resource":{"uri":"u","mimeType":"image/png","size":3}}`},
		{"data that is no image", `{"type":"text","data":"AAEC","mimeType":"text/plain"}`, `{"type":"text","data":"AAEC","mimeType":"text/plain"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string(WithoutBytes([]byte(c.in))); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
