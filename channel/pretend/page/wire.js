// One DDP socket: connects, logs in with a token, listens to all of the
// person's messages and to what happens in the room that is open. It comes back
// by itself when the socket ends.
const retryAfter = 1000; // ms
const fades = 15000; // ms after which a typing notice is no longer believed

export class Wire {
  #url; #me; #on; #socket; #next = 0; #closed = false; #room = null; #typing = new Map();

  constructor(url, me, on) {
    this.#url = url;
    this.#me = me;
    this.#on = on;
    this.#connect();
  }

  close() {
    this.#closed = true;
    this.#socket?.close();
  }

  // watch listens to typing and deletions of one room.
  watch(room) {
    this.#room = room;
    if (this.#socket?.readyState !== WebSocket.OPEN) return;
    for (const event of ["user-activity", "typing", "deleteMessage"]) this.#sub("stream-notify-room", `${room}/${event}`);
  }

  #send(frame) { this.#socket.send(JSON.stringify(frame)); }
  #id() { return `p${++this.#next}`; }
  #sub(name, event) { this.#send({ msg: "sub", id: this.#id(), name, params: [event, false] }); }

  #connect() {
    this.#on.status("connecting…", false);
    const socket = (this.#socket = new WebSocket(this.#url));
    socket.onopen = () => this.#send({ msg: "connect", version: "1", support: ["1"] });
    socket.onmessage = (event) => {
      let frame;
      try { frame = JSON.parse(event.data); } catch { return; }
      this.#heard(frame);
    };
    socket.onclose = () => {
      if (this.#closed) return;
      this.#on.status("offline", false);
      setTimeout(() => this.#closed || this.#connect(), retryAfter);
    };
  }

  #heard(frame) {
    switch (frame.msg) {
      case "ping":
        return this.#send({ msg: "pong", ...(frame.id && { id: frame.id }) });
      case "connected":
        return this.#send({ msg: "method", method: "login", id: "login", params: [{ resume: this.#me.token }] });
      case "result":
        if (frame.id !== "login") return;
        if (frame.error) return this.#on.status(frame.error.reason || "login refused", false);
        this.#sub("stream-room-messages", "__my_messages__");
        this.#sub("stream-notify-user", `${this.#me.id}/subscriptions-changed`);
        if (this.#room) this.watch(this.#room);
        return this.#on.status("online", true);
      case "changed":
        return this.#event(frame.collection, frame.fields || {});
    }
  }

  #event(collection, { eventName = "", args = [] }) {
    if (collection === "stream-room-messages") return this.#on.message(args[0]);
    if (collection === "stream-notify-user") return this.#on.rooms();
    if (collection !== "stream-notify-room") return;
    const [room, event] = eventName.split("/");
    if (event === "deleteMessage") return this.#on.deleted(args[0]._id);
    const [name, on] = args;
    this.#type(room, name, Array.isArray(on) ? on.includes("user-typing") : on);
  }

  #type(room, name, on) {
    const names = this.#typing.get(room) || new Map();
    clearTimeout(names.get(name));
    if (on) names.set(name, setTimeout(() => this.#type(room, name, false), fades));
    else names.delete(name);
    this.#typing.set(room, names);
    this.#on.typing(room, [...names.keys()]);
  }
}
