// Package dial is how a channel reaches its server: one way for both wires.
package dial
