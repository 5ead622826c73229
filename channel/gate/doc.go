// Package gate decides what a message means. It is pure.
package gate
