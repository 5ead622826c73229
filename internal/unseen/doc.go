// Package unseen knows which characters are not seen. People write them by
// accident, and those with something to hide on purpose: a whole message can
// be spelt in variation selectors or tag characters behind a single smiley,
// where people see the smiley and an agent reads the message.
//
// It is pure, imports nothing of ours, and may be called from anywhere.
package unseen
