// Package slips finds the word that somebody meant who mistyped one: a verb, a
// flag, a key of a settings file. It knows nothing of what the words mean,
// imports nothing of ours, and may be called from anywhere.
package slips
