package pretend

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
)

// A Kind of fault.
type Kind string

// The kinds; [Menu] says what each does.
const (
	Silent           Kind = "silent"
	HalfOpen         Kind = "half-open"
	Deaf             Kind = "deaf"
	NoPong           Kind = "no-pong"
	StalePong        Kind = "stale-pong"
	SlowReader       Kind = "slow-reader"
	Delay            Kind = "delay"
	Drop             Kind = "drop"
	Flap             Kind = "flap"
	Restart          Kind = "restart"
	Unreachable      Kind = "unreachable"
	RedirectSocket   Kind = "redirect-socket"
	HoldConnected    Kind = "hold-connected"
	HoldLogin        Kind = "hold-login"
	HoldReady        Kind = "hold-ready"
	Failed           Kind = "failed"
	RefuseToken      Kind = "refuse-token"
	Transient403     Kind = "transient-403"
	LoginError       Kind = "login-error"
	LoginRateLimited Kind = "login-rate-limited"
	WrongID          Kind = "wrong-id"
	Nosub            Kind = "nosub"
	NosubError       Kind = "nosub-error"
	NosubRateLimited Kind = "nosub-rate-limited"
	NosubLate        Kind = "nosub-late"
	BadJSON          Kind = "bad-json"
	Binary           Kind = "binary"
	UnknownFrame     Kind = "unknown-frame"
	HugeFrame        Kind = "huge-frame"
	OddFrame         Kind = "odd-frame"
	NestedArgs       Kind = "nested-args"
	NoContext        Kind = "no-context"
	Duplicate        Kind = "duplicate"
	Refused401       Kind = "refused-401"
	RateLimit        Kind = "rate-limit"
	BadGateway       Kind = "bad-gateway"
	HTML             Kind = "html"
	ServerError      Kind = "server-error"
	Slow             Kind = "slow"
	Cut              Kind = "cut"
	LoseReply        Kind = "lose-reply"
	Swallow          Kind = "swallow"
	Rewrite          Kind = "rewrite"
	ForeignID        Kind = "foreign-id"
	Misroute         Kind = "misroute"
	RedirectREST     Kind = "redirect-rest"
	RedirectFile     Kind = "redirect-file"
	ClockSkew        Kind = "clock-skew"
)

// A MenuEntry describes a kind of fault: which fields of [Fault] it reads
// beside user, count and for, what the server then does, and what in the world
// looks like that.
type MenuEntry struct {
	Kind  Kind     `json:"fault"`
	Group string   `json:"group"`
	Reads []string `json:"reads,omitempty"`
	Does  string   `json:"does"`
	Like  string   `json:"like,omitempty"`
	Once  bool     `json:"once,omitempty"` // done at once, never in force
	All   bool     `json:"all,omitempty"`  // for everybody only: nobody is logged in yet, or it is the server itself

	check func(Fault) error
	now   func(*Server, Fault, *user)
}

// menu is the one table of all faults: the HTTP menu, the listing and the page
// of documentation are made of it.
var menu []MenuEntry

func init() {
	menu = []MenuEntry{
		{Kind: Silent, Group: "socket", Does: "sends nothing at all; the socket stays open and is read", Like: "a hung server, a firewall that forgot the connection"},
		{Kind: HalfOpen, Group: "socket", Does: "swallows what it would send and ignores what comes, a close too", Like: "a peer that vanished without a FIN"},
		{Kind: Deaf, Group: "socket", Does: "answers pings and methods, but sends no events; what happened meanwhile is lost to the socket", Like: "RC#36023: sends work, events don't"},
		{Kind: NoPong, Group: "socket", Does: "does not answer the client's pings; all else goes on"},
		{Kind: StalePong, Group: "socket", Does: "answers a ping with another id than it had", Like: "js.SDK#368: a pong of an earlier ping"},
		{Kind: SlowReader, Group: "socket", Does: "stops reading until mended; what the client writes piles up", Like: "an overloaded server"},
		{Kind: Delay, Group: "socket", Reads: []string{"delay"}, Does: "sends every frame so much later, in order"},
		{Kind: Drop, Group: "socket", Reads: []string{"code", "text"}, Once: true, check: needsCode, now: dropNow, Does: "closes the sockets at once with that close code; 0 and 1006 cut the connection without a close frame", Like: "a proxy's timeout, a server's restart"},
		{Kind: Flap, Group: "socket", Reads: []string{"delay"}, Does: "cuts each connection so long after its room subscription", Like: "an unstable proxy"},
		{Kind: Restart, Group: "server", All: true, Reads: []string{"delay"}, Once: true, now: restartNow, Does: "cuts all connections and refuses new ones for the delay (5s)", Like: "an upgrade"},
		{Kind: Unreachable, Group: "server", All: true, Does: "accepts no connection; those there are stay", Like: "a server that is down"},
		{Kind: RedirectSocket, Group: "socket", All: true, Reads: []string{"url"}, check: needsURL, Does: "answers the WebSocket's handshake with a redirect to url"},
		{Kind: HoldConnected, Group: "connect", All: true, Does: "keeps `connected` back until mended"},
		{Kind: Failed, Group: "connect", All: true, Does: "answers connect with `failed` and closes", Like: "another protocol version"},
		{Kind: HoldLogin, Group: "login", Does: "keeps the login's result back until mended"},
		{Kind: RefuseToken, Group: "login", Does: "refuses the user's tokens: 403 on the socket, 401 over REST; open sockets stay", Like: "a token that was removed"},
		{Kind: Transient403, Group: "login", Does: "refuses a login with 403 while REST still takes the token", Like: "RC#23947: replication lag"},
		{Kind: LoginError, Group: "login", Reads: []string{"code", "text"}, Does: "answers a login with that error (500 Internal server error)"},
		{Kind: LoginRateLimited, Group: "login", Reads: []string{"delay"}, Does: "answers a login with too-many-requests and the delay as timeToReset"},
		{Kind: WrongID, Group: "login", Does: "names another user's id in the login's result"},
		{Kind: HoldReady, Group: "subscribe", Does: "keeps the room subscription's `ready` back until mended"},
		{Kind: Nosub, Group: "subscribe", Does: "answers the room subscription with a bare nosub", Like: "Go.SDK#44: no error in it"},
		{Kind: NosubError, Group: "subscribe", Does: "answers the room subscription with nosub and not-allowed"},
		{Kind: NosubRateLimited, Group: "subscribe", Reads: []string{"delay"}, Does: "answers it with nosub, too-many-requests and the delay as timeToReset"},
		{Kind: NosubLate, Group: "subscribe", Reads: []string{"delay"}, Does: "takes the room subscription away so long after `ready`"},
		{Kind: BadJSON, Group: "frames", Once: true, now: frameNow(BadJSON), Does: "sends a text frame that is no JSON"},
		{Kind: Binary, Group: "frames", Once: true, now: frameNow(Binary), Does: "sends a binary frame"},
		{Kind: UnknownFrame, Group: "frames", Once: true, now: frameNow(UnknownFrame), Does: "sends a frame whose msg nobody knows"},
		{Kind: HugeFrame, Group: "frames", Once: true, now: frameNow(HugeFrame), Does: "sends one frame of 5 MiB"},
		{Kind: OddFrame, Group: "frames", Reads: []string{"text"}, Once: true, now: frameNow(OddFrame), Does: "sends text as a frame, as it is"},
		{Kind: NestedArgs, Group: "frames", Does: "nests the arguments of message events once more", Like: "js.SDK#130"},
		{Kind: NoContext, Group: "frames", Does: "leaves the second argument of message events out", Like: "RC#12574"},
		{Kind: Duplicate, Group: "frames", Does: "sends every event twice", Like: "RC, hubot#141: two subscriptions, two instances"},
		{Kind: Refused401, Group: "rest", Reads: []string{"route"}, Does: "answers 401 over REST while the socket lives on", Like: "RC#26360"},
		{Kind: RateLimit, Group: "rest", Reads: []string{"route", "delay"}, Does: "answers 429; the limit is reset after the delay (60s)", Like: "RC#24539: also for bots"},
		{Kind: BadGateway, Group: "rest", Reads: []string{"route", "code"}, Does: "answers 502 (or code) with a proxy's page; the socket's handshake too, whose route is websocket"},
		{Kind: HTML, Group: "rest", Reads: []string{"route"}, Does: "answers 200 with a page instead of JSON", Like: "a captive portal, the web client"},
		{Kind: ServerError, Group: "rest", Reads: []string{"route", "code", "text"}, Does: "answers 500 (or code) with JSON"},
		{Kind: Slow, Group: "rest", Reads: []string{"route", "delay"}, Does: "does what it was asked and answers so much later"},
		{Kind: Cut, Group: "rest", Reads: []string{"route"}, Does: "does what it was asked and cuts the answer in the middle"},
		{Kind: LoseReply, Group: "rest", Reads: []string{"route"}, Does: "does what it was asked, stores the message, and closes the connection without an answer; every route that changes something unless one is given", Like: "RC#41886: a confirmed upload whose reply is lost"},
		{Kind: Swallow, Group: "messages", Does: "an app prevents the message: 400 as for a known id, and it is never stored"},
		{Kind: Rewrite, Group: "messages", Reads: []string{"text"}, Does: "stores that text instead of what was sent", Like: "an app, a bad-words filter"},
		{Kind: ForeignID, Group: "messages", Does: "somebody else already has a message of the id that is sent"},
		{Kind: Misroute, Group: "messages", Reads: []string{"text"}, Does: "stores what is sent in the room whose id or name is text", Like: "a tmid whose root lies in another room"},
		{Kind: RedirectREST, Group: "rest", Reads: []string{"route", "url"}, check: needsURL, Does: "answers a REST call with a redirect to url"},
		{Kind: RedirectFile, Group: "files", Reads: []string{"url"}, check: needsURL, Does: "answers a file with a redirect to url", Like: "an object store's presigned address"},
		{Kind: ClockSkew, Group: "server", All: true, Reads: []string{"delay"}, Does: "the server's clock is off by so much, which may be negative"},
	}
}

// Menu lists every kind of fault.
func Menu() []MenuEntry { return append([]MenuEntry(nil), menu...) }

func menuEntry(k Kind) (MenuEntry, bool) {
	for _, e := range menu {
		if e.Kind == k {
			return e, true
		}
	}
	return MenuEntry{}, false
}

func needsURL(f Fault) error {
	if u, err := url.Parse(f.URL); err != nil || u.Host == "" {
		return errors.New(string(f.Kind) + " needs a url")
	}
	return nil
}

// MenuTable is the menu as a Markdown table.
func MenuTable() string {
	var b strings.Builder
	b.WriteString("| fault | reads | what the server does | seen as |\n|---|---|---|---|\n")
	for _, e := range menu {
		does := e.Does
		if e.All {
			does += " (for everybody only)"
		}
		if e.Once {
			does += " (at once)"
		}
		b.WriteString("| `" + string(e.Kind) + "` | " + strings.Join(e.Reads, ", ") + " | " + does + " | " + e.Like + " |\n")
	}
	return b.String()
}

// faultsPage is FAULTS.md.
func faultsPage() string {
	return `# Faults of the pretend Rocket.Chat

Put in force with ` + "`POST /_pretend/faults`" + ` and a JSON body, or ` + "`Server.Break`" + ` in Go:

    curl -H 'Content-Type: application/json' -d '{"fault":"silent","user":"hermes","for":"90s"}' http://127.0.0.1:3000/_pretend/faults
    curl -H 'Content-Type: application/json' -d '{}' http://127.0.0.1:3000/_pretend/mend

` + "`user`" + ` (an id or a username) limits a fault to one user, ` + "`count`" + ` to so many uses, ` + "`for`" + ` to a time. What else a
fault reads is in the table; times are written like ` + "`90s`" + `. ` + "`GET /_pretend/`" + ` lists the same.

` + MenuTable()
}

// needsCode refuses what may not stand in a close frame.
func needsCode(f Fault) error {
	code := f.Code
	switch {
	case code == 0 || code == 1006 || (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999):
		return nil
	}
	return errors.New("no close code: " + strconv.Itoa(code))
}
