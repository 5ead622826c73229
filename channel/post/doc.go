// Package post is how one part of an answer is said: it is cut to size, given
// an id that is the same each time it is tried, sent, and found again when the
// server's reply was lost. Also the small signs of work: the eyes under a
// question and the typing notice.
//
// The package keeps no database: what is owed, and in which order, is
// deliver's.
package post
