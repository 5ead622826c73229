package conversation

import (
	"strings"
	"testing"
	"unicode/utf16"

	"rcsupervisor/channel/agent"
)

// What the room sees of answers of all lengths.
func TestWhatIsPostedOfAnAnswer(t *testing.T) {
	page := strings.Repeat("a line of an answer @all\n", 190) // one part
	const token = "v1.user.room.1800000000.0123456789abcdefABCDEF"
	for _, c := range []struct {
		name  string
		reply reply
		kept  bool // a file can be
		size  int
		parts int    // 0: it does not matter
		last  string // the end of the last
		file  int    // bytes of the file, 0 for none
	}{
		{"short", reply{text: "42"}, true, PartSize, 1, "42", 0},
		{"with a notice", reply{text: "42", notices: []string{"(Anew.)"}}, true, PartSize, 1, "(Anew.)\n\n42", 0},
		{"with a problem", reply{text: "42", problems: []string{"No file."}}, true, PartSize, 1, "42\n\nNo file.", 0},
		{"as long as may be", reply{text: strings.Repeat(page, 19)}, true, PartSize, 0, "answer @\u200ball", 0},
		{"too long for messages", reply{text: strings.Repeat(page, 30)}, true, PartSize, headParts + 1, noteFile, 30 * len(page)},
		{"with a problem too", reply{text: strings.Repeat(page, 30), problems: []string{"No file."}}, true, PartSize, headParts + 1, noteFile + "\n\nNo file.", 30 * len(page)},
		{"no room for the file", reply{text: strings.Repeat(page, 30)}, false, PartSize, maxParts + 1, noteCut, 0},
		{"longer than is read", reply{text: strings.Repeat(page, 30), cut: true}, true, PartSize, headParts + 1, noteFileCut, 30 * len(page)},
		{"short, and there was more", reply{text: "4", cut: true}, true, PartSize, 2, noteFileCut, 1},
		{"short, there was more, and no room", reply{text: "4", cut: true}, false, PartSize, 2, noteCut, 0},
		{"on a server of short messages", reply{text: strings.Repeat(page, 5)}, true, 200, headParts + 1, noteFile, 5 * len(page)},
		{"with a token", reply{text: strings.Repeat(page, 30) + token}, true, PartSize, headParts + 1, noteFile, 30*len(page) + len("(token removed)")},
		{"with a hidden token", reply{text: strings.Repeat(page, 30) + token[:5] + "\u200b" + token[5:20] + "\x01" + token[20:]}, true, PartSize, headParts + 1, noteFile, 30*len(page) + len("(token removed)")},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := ""
			parts := c.reply.texts(c.size, func(text string) string {
				if file = text; !c.kept {
					file = ""
					return ""
				}
				return "kept"
			})
			if c.parts != 0 && len(parts) != c.parts || len(parts) > maxParts+1 {
				t.Errorf("%d parts, want %d", len(parts), c.parts)
			}
			for i, p := range parts {
				if n := len(utf16.Encode([]rune(p))); n > c.size {
					t.Errorf("part %d has %d units", i, n)
				}
				if strings.Contains(p, "@all") {
					t.Errorf("part %d calls everybody", i)
				}
			}
			if last := parts[len(parts)-1]; !strings.HasSuffix(last, c.last) {
				t.Errorf("it ends with %q, want %q", last[max(0, len(last)-80):], c.last)
			}
			if len(file) != c.file || strings.Contains(file, "0123456789abcdef") {
				t.Errorf("the file has %d bytes, want %d; it ends with %q", len(file), c.file, file[max(0, len(file)-80):])
			}
			if (len(c.reply.files) == 1) != (c.file != 0) {
				t.Errorf("files: %q", c.reply.files)
			}
		})
	}
}

// What an agent's feed cuts is told of.
func TestAnAnswerThatItsFeedCut(t *testing.T) {
	f := agent.NewFeed()
	go func() {
		for range 10 {
			f.Put(agent.Text{Chunk: strings.Repeat("word ", 200_000)})
		}
		f.End(agent.Done{Stop: agent.Ended})
	}()
	said, end := read(fed{f}, &alone{})
	if !said.cut || len(said.text) != agent.MaxText+len(agent.SayCut) || end.Stop != agent.Ended {
		t.Errorf("cut %v, %d bytes, %+v", said.cut, len(said.text), end)
	}
}

// A fed turn is a feed alone.
type fed struct{ *agent.Feed }

func (fed) Answer(string, string) error { return agent.ErrNotAsked }
func (fed) Cancel()                     {}
