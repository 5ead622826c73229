package exec

import (
	"encoding/json"

	"rcsupervisor/channel/agent"
)

// input is what a process reads, one object. Its form is public.
type input struct {
	V            int           `json:"v"`
	Profile      string        `json:"profile"`
	Conversation string        `json:"conversation"`
	Room         agent.Room    `json:"room"`
	Sender       agent.Sender  `json:"sender"`
	Message      agent.Message `json:"message"`
	Prompt       string        `json:"prompt"`
	Asker        string        `json:"asker"` // the bare token, "" without keys.asker
	Files        []agent.File  `json:"files"` // never null
}

// encode returns the object and a line break.
func encode(q agent.Question) ([]byte, error) {
	in := input{
		V: 1, Profile: q.Profile, Conversation: q.Conversation, Room: q.Room, Sender: q.Sender,
		Message: q.Message, Prompt: q.Prompt, Asker: q.Asker, Files: q.Files,
	}
	if in.Files == nil {
		in.Files = []agent.File{}
	}
	data, err := json.Marshal(in)
	return append(data, '\n'), err
}
