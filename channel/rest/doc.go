// Package rest is the REST wire of one bot.
package rest
