// Package redact takes known secrets out of text.
package redact
