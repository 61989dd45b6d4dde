package topology

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// lastOnLeader reads a subject's last message through the stream API, which
// only the leader answers. nats.go's own getters use direct gets, which a
// lagging replica may answer.
func lastOnLeader(ctx context.Context, js jetstream.JetStream, stream, subject string) ([]byte, error) {
	req, err := json.Marshal(map[string]string{"last_by_subj": subject})
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	msg, err := js.Conn().RequestWithContext(ctx, apiPrefix(js)+"STREAM.MSG.GET."+stream, req)
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, fmt.Errorf("JetStream does not answer: is it enabled on the server (jetstream {} in its configuration), and for this account? %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", subject, err)
	}
	var resp struct {
		Error   *jetstream.APIError `json:"error"`
		Message struct {
			Data []byte `json:"data"`
		} `json:"message"`
	}
	if err := json.Unmarshal(msg.Data, &resp); err != nil {
		return nil, fmt.Errorf("decode the answer for %s: %w", subject, err)
	}
	switch {
	case resp.Error == nil:
		return resp.Message.Data, nil
	case resp.Error.Code == 404: // no such stream, or no message on the subject
		return nil, ErrAbsent
	default:
		return nil, fmt.Errorf("read %s: %w", subject, resp.Error)
	}
}

func apiPrefix(js jetstream.JetStream) string {
	o := js.Options()
	switch {
	case o.Domain != "":
		return "$JS." + o.Domain + ".API."
	case o.APIPrefix != "":
		return o.APIPrefix + "."
	default:
		return "$JS.API."
	}
}
