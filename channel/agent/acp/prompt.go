package acp

import (
	"encoding/base64"
	"io"
	"net/url"
	"os"
	"strings"

	"rcsupervisor/channel/agent"
)

// Bounds of images shown to an agent, in bytes.
const (
	maxImage  = 5 << 20
	maxImages = 15 << 20 // of all
)

// blocks is what an agent is shown: the prompt, and the images where it takes
// them. Files are in the prompt by their paths: a link to a file would be read
// into the prompt by some.
func blocks(q agent.Question, images bool) []block {
	text := q.Prompt
	if !q.Bare && strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "/") {
		text = "[Question]\n" + text // a command to most agents
	}
	list := []block{{Type: "text", Text: text}}
	if !images {
		return list
	}
	left := int64(maxImages)
	for _, f := range q.Files {
		switch f.Type {
		case "image/png", "image/jpeg", "image/gif", "image/webp":
		default:
			continue
		}
		data, ok := readImage(f.Path, min(left, maxImage))
		if ok {
			left -= int64(len(data))
			list = append(list, block{Type: "image", Mime: f.Type, Data: base64.StdEncoding.EncodeToString(data)})
		}
	}
	return list
}

// readImage reads a downloaded file of at most limit bytes.
func readImage(path string, limit int64) ([]byte, bool) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	return data, err == nil && len(data) > 0 && int64(len(data)) <= limit
}

// localPath is the path of a file: address on this machine.
func localPath(uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || u.Path == "" {
		return "", false
	}
	return u.Path, true
}
