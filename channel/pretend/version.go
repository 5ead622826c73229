package pretend

import "fmt"

// A Version is one of the personalities a pretend server can have.
type Version string

// The personalities.
const (
	// V34 is 3.4.0: Meteor's DDP server with database watchers, so that a
	// token's removal closes its sockets; typing is <rid>/typing.
	V34 Version = "3.4"
	// V7 is 7.10.0: Meteor's DDP server without watchers: a socket outlives
	// its token. Both ways of uploading.
	V7 Version = "7"
	// V9 is 9.0.0: the ddp-streamer's dialect, 403 for permissions, strict
	// bodies, rooms.upload and most methods gone.
	V9 Version = "9"
)

// Versions lists the personalities, newest first.
func Versions() []Version { return []Version{V9, V7, V34} }

// ParseVersion reads a personality's name.
func ParseVersion(s string) (Version, error) {
	for _, v := range Versions() {
		if s == string(v) {
			return v, nil
		}
	}
	return "", fmt.Errorf("no version %q: one of 9, 7, 3.4", s)
}

// A personality is what differs between servers, one field for each
// difference that a bot can notice.
type personality struct {
	full           string // the release
	short          string // what /api/info shows
	streamer       bool   // ddp-streamer instead of Meteor
	watchers       bool   // removing a token closes its sockets
	activity       string // typing: the event below stream-notify-room
	nosubError     bool   // a denied subscription says why
	methods        bool   // the realtime API's methods beside login and streams
	permission403  bool   // REST: 403 error-forbidden
	failureFlag    bool   // REST 401 has success:false and error
	statusError    bool   // REST 401 has status:"error" and message
	sizeLimit      bool   // Message_MaxAllowedSize is kept
	queryParameter bool   // ?query= is understood
	strictBodies   bool   // unknown keys are refused
	htmlUnknown    bool   // an unknown route answers 200 with the web client
	media          bool   // rooms.media and rooms.mediaConfirm
	upload         bool   // rooms.upload
	fullUsers      bool   // /me shows everything, password hash included
	mentionTypes   bool   // mentions carry type
	parser         bool   // mentions by message-parser instead of a regular expression
	countLimit     int    // API_Upper_Count_Limit, 0 where it isn't applied
	sendBurst      bool   // chat.sendMessage has a limit of its own (PR#41966)
	uploadExpires  bool   // unconfirmed media is thrown away after 24 h
}

var personalities = map[Version]*personality{
	V34: {
		full: "3.4.0", short: "3.4.0", watchers: true, activity: "typing", methods: true,
		statusError: true, queryParameter: true, htmlUnknown: true, upload: true, fullUsers: true,
	},
	V7: {
		full: "7.10.0", short: "7.10", activity: "user-activity", nosubError: true, methods: true,
		statusError: true, failureFlag: true, sizeLimit: true, queryParameter: true, media: true, upload: true,
		mentionTypes: true, countLimit: 100, uploadExpires: true,
	},
	V9: {
		full: "9.0.0", short: "9.0", streamer: true, activity: "user-activity", nosubError: true,
		permission403: true, failureFlag: true, sizeLimit: true, strictBodies: true, media: true,
		mentionTypes: true, parser: true, countLimit: 100, sendBurst: true, uploadExpires: true,
	},
}
