package gateway

import (
	"encoding/json"
	"net/http"
)

// problem is an error as a client sees it: RFC 9457 on REST, code and msg of
// an ack on the WebSocket. It is an error of its own, so that what finds the
// fault also words it.
type problem struct {
	Status int
	Code   string // stable, for programs
	Detail string // for people: what happened, to what, what to do
}

func (p *problem) Error() string { return p.Detail }

func badRequest(code, detail string) *problem {
	return &problem{http.StatusBadRequest, code, detail}
}

func notFound(code, detail string) *problem {
	return &problem{http.StatusNotFound, code, detail}
}

func unavailable(detail string) *problem {
	return &problem{http.StatusServiceUnavailable, "unavailable", detail}
}

// ackCode is the number an ack carries: the status, which is never 0.
func (p *problem) ackCode() int { return p.Status }

func (p *problem) write(w http.ResponseWriter, r *http.Request) {
	body := struct {
		Type     string `json:"type"`
		Title    string `json:"title"`
		Status   int    `json:"status"`
		Detail   string `json:"detail"`
		Instance string `json:"instance"`
		Code     string `json:"code"`
	}{"urn:steno:problem:" + p.Code, http.StatusText(p.Status), p.Status, p.Detail, r.URL.Path, p.Code}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(body)
}
