// Package dotenv reads a .env file as Hermes does.
package dotenv
