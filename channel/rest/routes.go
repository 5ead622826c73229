package rest

// The routes as the server counts them: a limit of 10 calls in 60 s is kept for
// each, per address and not per user, so that all bots of one host share it
// unless they have api-bypass-rate-limit. They name the budget that
// [Config.Allow] is asked for.
const (
	RouteInfo           = "info"
	RouteMe             = "me"
	RouteSend           = "chat.sendMessage"
	RouteMessage        = "chat.getMessage"
	RouteUpdate         = "chat.update"
	RouteDelete         = "chat.delete"
	RouteReact          = "chat.react"
	RouteChannelMembers = "channels.members"
	RouteGroupMembers   = "groups.members"
	RouteThread         = "chat.getThreadMessages"
	RouteRoom           = "rooms.info"
	RouteRooms          = "rooms.get"
	RouteSubscriptions  = "subscriptions.get"
	RouteChannelHistory = "channels.history"
	RouteGroupHistory   = "groups.history"
	RouteDirectHistory  = "im.history"
	RouteUser           = "users.info"
	RouteDirect         = "im.create"
	RouteSettings       = "settings.public"
	RouteMedia          = "rooms.media"
	RouteConfirm        = "rooms.mediaConfirm"
	RouteUpload         = "rooms.upload" // up to 7
	RouteFile           = "file-upload"  // a download; the server doesn't count it
)
