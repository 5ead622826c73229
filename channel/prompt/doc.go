// Package prompt makes what an agent is shown. It is pure.
package prompt
