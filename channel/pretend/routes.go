package pretend

// routes is the REST API, by method and name. init breaks the cycle with its
// own functions.
var routes map[string]route

func init() {
	hasMedia := func(v *personality) bool { return v.media }
	hasUpload := func(v *personality) bool { return v.upload }
	hasMethods := func(v *personality) bool { return v.methods }
	get := func(f func(*call) (doc, *refusal)) route { return route{run: f} }
	post := func(f func(*call) (doc, *refusal)) route { return route{run: f, writes: true} }
	routes = map[string]route{
		"GET info":       {run: (*call).info, public: true, raw: true},
		"POST login":     {run: (*call).restLogin, public: true, raw: true},
		"POST logout":    {run: (*call).restLogout, raw: true},
		"GET me":         get((*call).me),
		"GET users.info": get((*call).userInfo),
		"GET users.list": get((*call).userList),

		"POST users.setStatus": post((*call).setStatus),
		"GET users.getStatus":  get((*call).status),
		"GET users.presence":   get((*call).presence),
		"POST users.logout":    post((*call).usersLogout),

		"POST users.generatePersonalAccessToken":   post((*call).generateToken),
		"POST users.regeneratePersonalAccessToken": post((*call).regenerateToken),
		"POST users.removePersonalAccessToken":     post((*call).removeToken),
		"GET users.getPersonalAccessTokens":        get((*call).listTokens),

		"GET settings.public": {run: (*call).publicSettings, public: true},

		"POST chat.postMessage":      post((*call).postMessage),
		"POST chat.sendMessage":      post((*call).sendMessage),
		"GET chat.getMessage":        get((*call).getMessage),
		"POST chat.update":           post((*call).updateMessage),
		"POST chat.delete":           post((*call).deleteMessage),
		"POST chat.react":            post((*call).react),
		"POST chat.pinMessage":       post(func(c *call) (doc, *refusal) { return c.pin(true) }),
		"POST chat.unPinMessage":     post(func(c *call) (doc, *refusal) { return c.pin(false) }),
		"POST chat.starMessage":      post(func(c *call) (doc, *refusal) { return c.star(true) }),
		"POST chat.unStarMessage":    post(func(c *call) (doc, *refusal) { return c.star(false) }),
		"POST chat.followMessage":    post(func(c *call) (doc, *refusal) { return c.follow(true) }),
		"POST chat.unfollowMessage":  post(func(c *call) (doc, *refusal) { return c.follow(false) }),
		"GET chat.getThreadMessages": get((*call).threadMessages),
		"GET chat.syncMessages":      get((*call).syncMessages),

		"GET rooms.info":              get((*call).roomInfo),
		"GET rooms.get":               get((*call).rooms),
		"POST rooms.createDiscussion": post((*call).createDiscussion),
		"POST rooms.media":            {run: (*call).media, open: (*call).readUpload, writes: true, only: hasMedia},
		"POST rooms.mediaConfirm":     {run: (*call).mediaConfirm, writes: true, only: hasMedia},
		"POST rooms.upload":           {run: (*call).uploadOld, open: (*call).readUpload, writes: true, only: hasUpload},
		"GET subscriptions.get":       get((*call).subscriptions),
		"GET subscriptions.getOne":    get((*call).subscription),
		"POST subscriptions.read":     post((*call).markRead),

		"GET channels.history": get(history("c")),
		"GET groups.history":   get(history("p")),
		"GET im.history":       get(history("d")),
		"GET dm.history":       get(history("d")),
		"GET channels.info":    get(info("c")),
		"GET groups.info":      get(info("p")),
		"GET channels.members": get(members("c")),
		"GET groups.members":   get(members("p")),
		"GET channels.list":    get(listOf("c")),
		"GET groups.list":      get(listOf("p")),
		"GET im.list":          get((*call).directs),
		"GET dm.list":          get((*call).directs),

		"POST channels.create": post(create("c")),
		"POST groups.create":   post(create("p")),
		"POST im.create":       post((*call).createDirect),
		"POST dm.create":       post((*call).createDirect),
		"POST channels.join":   post((*call).join),
		"POST channels.leave":  post(leave("c")),
		"POST groups.leave":    post(leave("p")),
		"POST channels.invite": post(invite("c", false)),
		"POST groups.invite":   post(invite("p", false)),
		"POST channels.kick":   post(invite("c", true)),
		"POST groups.kick":     post(invite("p", true)),

		"POST commands.run": post((*call).runCommand),
		"GET commands.list": get((*call).listCommands),
		"POST method.call":  {run: (*call).callMethod, writes: true, only: hasMethods},
	}
}
