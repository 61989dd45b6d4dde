package gateway

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/stenohq/steno/pkg/events"
)

// call is one request on its way to its handler.
type call struct {
	g       *Gateway
	w       http.ResponseWriter
	r       *http.Request
	session events.SessionID
	query   query
}

// handler answers a call; a problem it returns is written for it.
type handler func(c *call) *problem

// ServeHTTP routes by hand: the standard multiplexer would clean a path with
// dots before the ids in it have been looked at.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	c := &call{g: g, w: w, r: r}
	if p := c.route(); p != nil {
		p.write(w, r)
	}
}

func (c *call) route() *problem {
	parts, p := splitPath(c.r.URL.EscapedPath())
	if p != nil {
		return p
	}
	values, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return badRequest("bad_query", "the query is not as it should be: "+err.Error())
	}
	c.query = query{Values: values}
	if len(parts) >= 3 && parts[0] == "v1" && parts[1] == "sessions" {
		if c.session, p = sessionID(parts[2]); p != nil {
			return p
		}
		parts[2] = "{id}"
	}
	route := strings.Join(parts, "/")
	if methods, ok := c.g.routes[route]; ok {
		return c.method(methods)
	}
	if parts[0] == "v1" || c.g.cfg.Page == nil {
		return notFound("no_route", "there is nothing at "+shown(c.r.URL.Path))
	}
	c.g.cfg.Page.ServeHTTP(c.w, c.r)
	return nil
}

func (c *call) method(methods map[string]handler) *problem {
	method := c.r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	h, ok := methods[method]
	if !ok {
		allow := make([]string, 0, len(methods))
		for m := range methods {
			allow = append(allow, m)
		}
		c.w.Header().Set("Allow", strings.Join(allow, ", "))
		return &problem{http.StatusMethodNotAllowed, "method_not_allowed", "this path does not answer " + shown(c.r.Method)}
	}
	// A page of another origin could send a form here without being asked.
	if err := c.g.foreign.Check(c.r); err != nil {
		return &problem{http.StatusForbidden, "cross_origin", "requests that change something are not taken from pages of another origin"}
	}
	return h(c)
}

func routes() map[string]map[string]handler {
	get := func(h handler) map[string]handler { return map[string]handler{http.MethodGet: h} }
	return map[string]map[string]handler{
		"healthz":                         get((*call).healthz),
		"readyz":                          get((*call).readyz),
		"v1/ws":                           get((*call).ws),
		"v1/sessions":                     get((*call).listSessions),
		"v1/sessions/{id}":                get((*call).showSession),
		"v1/sessions/{id}/transcript":     get((*call).transcript),
		"v1/sessions/{id}/transcript/ops": get((*call).transcriptOps),
		"v1/sessions/{id}/memory":         get((*call).showMemory),
		"v1/sessions/{id}/resume":         get((*call).showResume),
		"v1/sessions/{id}/runs":           get((*call).runs),
		"v1/sessions/{id}/wire":           get((*call).wire),
		"v1/sessions/{id}/stream":         get((*call).stream),
		"v1/sessions/{id}/events":         {http.MethodPost: (*call).ingest},
	}
}

// splitPath returns the decoded segments of a path. A slash that was encoded
// stays inside its segment, where no id allows it.
func splitPath(escaped string) ([]string, *problem) {
	parts := strings.Split(strings.TrimPrefix(escaped, "/"), "/")
	for i, s := range parts {
		d, err := url.PathUnescape(s)
		if err != nil {
			return nil, badRequest("bad_path", "the path is not as it should be: "+err.Error())
		}
		parts[i] = d
	}
	return parts, nil
}

func splitList(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}
