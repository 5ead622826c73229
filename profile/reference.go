package profile

import "strings"

// Reference returns every key of channel.yaml and access.yaml as Markdown
// tables, made from the tables that validate the files.
func Reference() string {
	var b strings.Builder
	b.WriteString("### channel.yaml\n\n")
	settingsKeys.reference(&b)
	b.WriteString("\n### access.yaml\n\n")
	accessKeys.reference(&b)
	return b.String()
}

func (t table[T]) reference(b *strings.Builder) {
	b.WriteString("| key | takes | default | a change means | |\n|---|---|---|---|---|\n")
	for _, k := range t {
		takes := k.kind
		if k.bounds != "" {
			takes += ": " + k.bounds
		}
		class := k.class.String()
		if k.widens {
			class += "; giving more waits for a person"
		}
		for _, cell := range []string{"`" + k.path + "`", takes, k.def, class, k.doc} {
			b.WriteString("| " + strings.ReplaceAll(cell, "|", `\|`) + " ")
		}
		b.WriteString("|\n")
	}
}
