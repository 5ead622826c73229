// Package conversation is one room and thread: its queue, and one turn at a time.
package conversation
