// Package redact takes known secrets out of text: the last wall behind values
// that don't print, for the secret that somebody else's error quotes, that an
// agent writes to its stderr, or that a server sends back.
//
// A [Redactor] is told the secrets' values. It finds them in strings, bytes and
// errors, in what goes through a [Redactor.Writer] in pieces, and in what a
// [Redactor.Handler] logs; also in their JSON, URL, hexadecimal and base64
// forms. It holds them for that, and prints as none of them.
//
// What it can't know it doesn't find: secrets nobody told it, those of fewer
// than eight bytes, and what was encrypted, compressed or reversed. It is no
// reason to print a secret.
//
// The package imports nothing of ours and may be used by everything above it.
package redact
