// Package page is the chat page of the pretend Rocket.Chat: plain HTML and
// script, embedded. The page is an ordinary client of the server that serves
// it; nothing here talks to the server's inside.
package page
