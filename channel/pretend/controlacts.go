package pretend

import (
	"encoding/json"
	"strings"
	"time"
)

// The acts of the menu: what people do on a server, by anybody's hand.

func (s *Server) controlUser(name string) (User, error) {
	if u, ok := s.FindUser(name); ok {
		return u, nil
	}
	return User{}, controlError("no user " + name)
}

// controlRoom finds a room by id or name, or the direct room with @username.
func (s *Server) controlRoom(u User, name string) (Room, error) {
	if who, ok := strings.CutPrefix(name, "@"); ok {
		other, err := s.controlUser(who)
		if err != nil {
			return Room{}, err
		}
		return s.AddDirect(u, other), nil
	}
	if r, ok := s.FindRoom(name); ok {
		return r, nil
	}
	return Room{}, controlError("no room " + name)
}

func controlAddUser(s *Server, b *controlBody) (any, error) {
	if b.Username == "" {
		return nil, controlError("a user needs a username")
	}
	if _, there := s.FindUser(b.Username); there {
		return nil, controlError("the user " + b.Username + " is there already")
	}
	return s.AddUser(b.Username, UserOptions{Name: b.Name, Bot: string(b.Bot) == "true", Roles: b.Roles}), nil
}

func controlRevoke(s *Server, b *controlBody) (any, error) {
	u, err := s.controlUser(b.User)
	if err != nil {
		return nil, err
	}
	s.RevokeTokens(u)
	u, err = s.controlUser(b.User)
	return u, err
}

func controlAddRoom(s *Server, b *controlBody) (any, error) {
	var list []User
	for _, m := range b.Members {
		u, err := s.controlUser(m)
		if err != nil {
			return nil, err
		}
		list = append(list, u)
	}
	if b.Kind == "d" {
		if len(list) == 0 {
			return nil, controlError("a direct room needs members")
		}
		return s.AddDirect(list...), nil
	}
	if b.Name == "" {
		return nil, controlError("a room needs a name")
	}
	if _, there := s.FindRoom(b.Name); there {
		return nil, controlError("the room " + b.Name + " is there already")
	}
	return s.AddRoom(orText(b.Kind, "c"), b.Name, list...), nil
}

// controlPlace is the user that is meant, and the room.
func (s *Server) controlPlace(b *controlBody) (User, Room, error) {
	u, err := s.controlUser(b.User)
	if err != nil {
		return User{}, Room{}, err
	}
	r, err := s.controlRoom(u, b.Room)
	return u, r, err
}

func controlMember(s *Server, b *controlBody) (any, error) {
	u, r, err := s.controlPlace(b)
	if err != nil {
		return nil, err
	}
	switch b.Act {
	case "join":
		s.Join(r, u)
	case "leave":
		s.Leave(r, u)
	case "kick":
		cat, _ := s.FindUser("rocket.cat")
		s.Kick(r, u, cat)
	default:
		return nil, controlError("act is join, leave or kick")
	}
	r, _ = s.FindRoom(r.ID)
	return r, nil
}

func controlMessages(s *Server, b *controlBody) (any, error) {
	r, err := s.controlRoom(User{}, b.query("room"))
	if err != nil {
		return nil, err
	}
	return s.messagesJSON(r), nil
}

// messagesJSON lists a room's messages as REST shows them.
func (s *Server) messagesJSON(r Room) json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []doc{}
	for _, e := range s.roomLocked(r).list {
		list = append(list, e.msg.doc(s.v))
	}
	return encode(nil, list, overREST)
}

func controlSay(s *Server, b *controlBody) (any, error) {
	u, r, err := s.controlPlace(b)
	if err != nil {
		return nil, err
	}
	var bot string
	if len(b.Bot) > 0 && json.Unmarshal(b.Bot, &bot) != nil {
		return nil, controlError("bot is an integration's id")
	}
	return s.messageJSON(s.Say(u, r, b.Text, SayOptions{
		Thread: b.Thread, Bot: bot, Alias: b.Alias, At: b.At, Type: b.Type, Quiet: b.Quiet, WithName: true,
	})), nil
}

func (s *Server) messageJSON(m Message) json.RawMessage { return encode(nil, m.doc(s.v), overREST) }

func controlTouch(s *Server, b *controlBody) (any, error) {
	var id string
	if json.Unmarshal(b.ID, &id) != nil {
		return nil, controlError("id is a message's id")
	}
	m, ok := s.Message(id)
	if !ok {
		return nil, controlError("no message " + id)
	}
	by := m.User.ID
	if b.User != "" {
		by = b.User
	}
	u, err := s.controlUser(by)
	if err != nil {
		return nil, err
	}
	if m, err = s.touchAs(m, b, u); err != nil {
		return nil, err
	}
	return s.messageJSON(m), nil
}

func (s *Server) touchAs(m Message, b *controlBody, u User) (Message, error) {
	emoji, no := reactionName(orText(b.Emoji, "eyes"))
	if no != nil {
		return m, no
	}
	switch b.Cause {
	case "edit":
		return s.Edit(m.ID, u, b.Text), nil
	case "delete":
		s.Delete(m.ID, u)
		return m, nil
	case "react":
		return s.React(m.ID, u, emoji), nil
	case "unreact":
		return s.Unreact(m.ID, u, emoji), nil
	case "pin":
		return s.Pin(m.ID, u), nil
	case "unpin":
		return s.Unpin(m.ID, u), nil
	case "star":
		return s.Star(m.ID, u, true), nil
	case "follow":
		return s.Follow(m.ID, u, true), nil
	}
	if _, ok := causes[Cause(b.Cause)]; !ok {
		return m, controlError("no cause " + b.Cause)
	}
	return s.Touch(m.ID, Cause(b.Cause)), nil
}

func controlConnections(s *Server, _ *controlBody) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []Connection{}
	for c := range s.sessions {
		list = append(list, c.public())
	}
	return map[string]any{"now": s.now().Format(time.RFC3339), "connections": list}, nil
}
