// Package asker makes and checks asker tokens: short signed words that tell a
// tool server which person a bot is asking for, and from which room.
//
// Rocket.Chat authorises every call as the bot. A server that gives an agent
// access to messages can't know from such a call who is behind it, and so
// whose rooms may be read. A token, fresh with each turn, says so:
//
//	v1.<user id>.<room id>.<expiry>.<signature>
//
// expiry is in Unix seconds, [Lifetime] after signing; the signature is the
// first 22 characters of base64url, without padding, of HMAC-SHA256(key,
// "v1.<user id>.<room id>.<expiry>"). The agent is shown the token and hands it
// on; it never sees the key. A server that holds the key calls [Verify], and
// then returns only what that person may read. This is all of the package, and
// it needs the standard library alone: import it into such a server as it is.
package asker
