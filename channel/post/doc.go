// Package post is how one part is said.
package post
