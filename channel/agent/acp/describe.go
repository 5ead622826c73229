package acp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// describe returns what a tool call is and exactly what it runs: the command,
// the changes, every argument. Nothing is left out but what is said twice.
func (k *called) describe() (title, body string) {
	command, rest := arguments(k.Input)
	title = strings.TrimSpace(k.Title)
	seen := title + "\n" + command + "\n" + rest
	if cut, ok := strings.CutSuffix(title, command); ok && command != "" {
		title = strings.TrimRight(cut, ": \n")
	}
	var parts []string
	add := func(s string) {
		s = strings.Trim(s, "\n")
		if strings.TrimSpace(s) != "" && !slices.Contains(parts, s) {
			parts = append(parts, s)
		}
	}
	add(command)
	for _, c := range contents(k.content) {
		if !repeats(seen, c) {
			add(c)
		}
	}
	if !strings.Contains(title, rest) {
		add(rest)
	}
	if len(parts) == 0 {
		for _, l := range k.Locations {
			add(l.Path)
		}
	}
	return title, strings.Join(parts, "\n\n")
}

// repeats reports whether every line of a text is in what is shown anyhow.
// Agents like to show a command once more behind a prompt.
func repeats(seen, text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.Contains(seen, line) && !strings.Contains(seen, strings.TrimPrefix(line, "$ ")) {
			return false
		}
	}
	return true
}

// arguments returns the command of a tool's input, and whatever else is in it.
func arguments(input json.RawMessage) (command, rest string) {
	if !present(input) {
		return "", ""
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil {
		return "", readable(input)
	}
	command = commandOf(fields["command"])
	if command != "" {
		delete(fields, "command")
	}
	var description string
	if command != "" && json.Unmarshal(fields["description"], &description) == nil && len(fields) == 1 {
		return command, description
	}
	if len(fields) == 0 {
		return command, ""
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return "", readable(input)
	}
	return command, readable(data)
}

// commandOf returns a command as one would type it: a text, or a list of words.
func commandOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var words []string
	if json.Unmarshal(raw, &words) != nil || len(words) == 0 {
		return ""
	}
	for i, w := range words {
		words[i] = quoted(w)
	}
	return strings.Join(words, " ")
}

// quoted is a word as a shell reads it back.
func quoted(w string) string {
	plain := w != "" && strings.IndexFunc(w, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:,+@%", r))
	}) < 0
	if plain {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// readable is JSON with its structure shown, and no character escaped that can
// be read.
func readable(raw json.RawMessage) string {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return string(raw)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if e.Encode(v) != nil {
		return string(raw)
	}
	return b.String()
}

// contents are the texts and the changes that a tool call shows.
func contents(raw json.RawMessage) []string {
	var list []struct {
		Type    string  `json:"type"`
		Content block   `json:"content"`
		Path    string  `json:"path"`
		Old     *string `json:"oldText"`
		New     string  `json:"newText"`
	}
	if !present(raw) {
		return nil
	}
	if json.Unmarshal(raw, &list) != nil {
		return []string{readable(raw)}
	}
	var texts []string
	for _, c := range list {
		switch c.Type {
		case "content":
			texts = append(texts, c.Content.Text)
		case "diff":
			texts = append(texts, change(c.Path, c.Old, c.New))
		}
	}
	return texts
}

// change shows a file's change: all of what goes, and all of what comes.
func change(path string, before *string, after string) string {
	var b strings.Builder
	if before == nil {
		fmt.Fprintf(&b, "new file %s\n", path)
	} else {
		fmt.Fprintf(&b, "change of %s\n", path)
		each(&b, "- ", *before)
	}
	each(&b, "+ ", after)
	return b.String()
}

func each(b *strings.Builder, mark, text string) {
	for line := range strings.Lines(text) {
		b.WriteString(mark)
		b.WriteString(strings.TrimSuffix(line, "\n"))
		b.WriteByte('\n')
	}
}
