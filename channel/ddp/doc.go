// Package ddp is the realtime wire of one connection.
package ddp
