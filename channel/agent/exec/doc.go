// Package exec answers each question with one process: a JSON object on its
// standard input, the answer on its standard output. Any program can be a bot's
// agent so, in any language.
//
// The process runs in its conversation's own directory, which stays. It has to
// end within a time, is killed with all it started when the turn is cancelled,
// and says by its exit status whether it could answer. A line `MEDIA:<path>` of
// its output sends that file, from its own directory only. It can ask nobody
// for permission.
package exec
