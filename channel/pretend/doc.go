// Package pretend is a pretend Rocket.Chat.
package pretend
