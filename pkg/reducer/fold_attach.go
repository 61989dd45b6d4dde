package reducer

import (
	"strconv"
	"strings"

	"github.com/stenohq/steno/pkg/events/scan"
)

// attachments reads the attachments of an event, not yet named.
func (p *foldPayload) attachments() []Attachment {
	var list []Attachment
	for _, field := range [...]string{"attachments", "promptAttachments"} {
		for _, a := range p.objects(field) {
			list = append(list, a.attachment())
		}
	}
	return list
}

func (p *foldPayload) attachment() Attachment {
	kind, media := p.oneOf("kind", "image", "video", "audio"), p.word("mediaType")
	url, file, sha := p.word("url"), p.word("fileId"), p.word("sha256")
	if file == "" {
		file = sha
	}
	return makeAttachment(kind, media, p.text("name"), p.number("size"), url, file)
}

// makeAttachment fills in the media type and leaves out data URLs: bytes never
// travel in operations.
func makeAttachment(kind, media string, name Opt[string], size Opt[float64], url, file string) Attachment {
	a := Attachment{MediaType: media, Name: name, Size: size}
	if rest, isData := strings.CutPrefix(url, "data:"); isData {
		url = ""
		if inline, _, ok := strings.Cut(rest, ";"); ok && media == "" && len(inline) < 100 {
			a.MediaType = inline
		}
	}
	switch {
	case url != "":
		a.Source = &AttachmentSource{Kind: "url", URL: url}
	case file != "":
		a.Source = &AttachmentSource{Kind: "session_media", FileID: file}
	}
	switch {
	case a.MediaType != "":
	case kind != "":
		a.MediaType = kind + "/*"
	default:
		a.MediaType = "application/octet-stream"
	}
	return a
}

// attach names and emits the attachments of a turn; nil when there are none.
func (f *Fold) attach(t *foldTurn, list []Attachment) []string {
	var ids []string
	for _, a := range list {
		t.atts++
		a.AttachmentID = t.head.TurnID + ".att" + strconv.Itoa(t.atts)
		e := f.attachments.add(&foldEntity{id: a.AttachmentID, attachment: &a})
		f.resize(&e.size, f.jsonSize(&a))
		f.push(OpAttachmentUpsert).Attachment = &a
		f.endEntity(&f.attachments, e, t)
		ids = append(ids, a.AttachmentID)
	}
	return ids
}

// content reads the content of a message: a string, or parts of which the
// texts are joined and the others become attachments.
func (p *foldPayload) content(field string) (text Opt[string], list []Attachment) {
	raw := p.value(field)
	switch scan.KindOf(raw) {
	case scan.Invalid:
		return text, nil
	case scan.String:
		return p.text(field), nil
	case scan.Array:
	default:
		p.wrong(field, "a string or an array of parts", raw)
		return text, nil
	}
	var sb strings.Builder
	a := scan.ArrayOf(raw)
	for a.Next() {
		if s, ok := foldString(a.Value()); ok {
			sb.WriteString(s)
			continue
		}
		if scan.KindOf(a.Value()) != scan.Object {
			p.wrong(field+"[]", "an object or a string", a.Value())
			continue
		}
		part := foldPayload{f: p.f, prefix: p.prefix + field + "[]."}
		part.read(a.Value())
		if t := part.value("text"); scan.KindOf(t) == scan.String {
			s, _ := foldString(t)
			sb.WriteString(s)
		} else if t != nil {
			part.wrong("text", "a string", t)
		} else {
			list = append(list, part.mediaPart())
		}
	}
	return Some(sb.String()), list
}

// mediaPart reads a part that is not text, in the shapes that models' APIs
// use.
func (p *foldPayload) mediaPart() Attachment {
	typ := p.word("type")
	kind := ""
	for _, k := range [...]string{"image", "video", "audio"} {
		if strings.HasPrefix(typ, k) {
			kind = k
		}
	}
	media, url, file := p.word("mediaType"), "", p.word("fileId")
	for _, field := range [...]string{"source", "image_url", "video_url", "audio_url", "file"} {
		if scan.KindOf(p.value(field)) != scan.Object {
			continue
		}
		o, _ := p.object(field)
		url = o.word("url")
		if media == "" {
			media = o.word("media_type")
		}
		if file == "" {
			file = o.word("fileId")
		}
	}
	if scan.KindOf(p.value("url")) == scan.String {
		url = p.word("url")
	}
	return makeAttachment(kind, media, p.text("name"), p.number("size"), url, file)
}
