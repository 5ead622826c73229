package pretend

import "encoding/json"

// SockJS wraps DDP for browsers that Meteor still serves so: "o" opens, each
// frame is a["…"], and a client sends ["…"].

// sockFrame wraps one frame; an empty one is the opening.
func sockFrame(data []byte) []byte {
	if len(data) == 0 {
		return []byte("o")
	}
	b := append(make([]byte, 0, len(data)+len(data)/8+8), 'a', '[')
	return append(appendString(b, string(data)), ']')
}

// sockFrames unwraps what a client sent.
func sockFrames(data []byte) ([][]byte, bool) {
	var list []string
	if json.Unmarshal(data, &list) != nil {
		return nil, false
	}
	frames := make([][]byte, len(list))
	for i, f := range list {
		frames[i] = []byte(f)
	}
	return frames, true
}
