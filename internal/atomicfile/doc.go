// Package atomicfile replaces a file whole or not at all.
package atomicfile
