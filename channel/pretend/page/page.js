// The chat page: an ordinary client of the server it came from. It reads and
// writes over REST and listens over DDP, as one of the made-up people, so what
// it shows is what any client would be told.
import { Wire } from "./wire.js";
import { render } from "./markdown.js";
import { update, rove } from "./list.js";

const $ = (id) => document.getElementById(id);
const base = new URL(".", import.meta.url); // the page lies at the root of the server
const state = { users: [], me: null, rooms: new Map(), room: null, messages: new Map(), thread: null, typing: new Map(), wire: null };
const quick = [":thumbsup:", ":eyes:", ":tada:"];
const faces = { ":thumbsup:": "👍", ":+1:": "👍", ":eyes:": "👀", ":tada:": "🎉", ":white_check_mark:": "✅", ":heart:": "❤️" };

async function api(method, path, body) {
  const headers = { "X-User-Id": state.me.id, "X-Auth-Token": state.me.token };
  if (body) headers["Content-Type"] = "application/json";
  const reply = await fetch(new URL(`api/v1/${path}`, base), { method, headers, body: body && JSON.stringify(body) });
  const said = await reply.json().catch(() => ({}));
  if (!reply.ok) throw new Error(said.error || said.message || `${path}: ${reply.status}`);
  return said;
}

function oops(error) {
  $("oops").textContent = error.message;
  $("oops").hidden = false;
  clearTimeout(oops.timer);
  oops.timer = setTimeout(() => ($("oops").hidden = true), 6000);
}
const guarded = (work) => (...args) => Promise.resolve(work(...args)).catch(oops);

// --- who you are -----------------------------------------------------------

async function start() {
  const reply = await fetch(new URL("_pretend/users", base));
  const made = await reply.json();
  state.users = made.map((u) => ({ ...u, id: u._id, bot: u.roles.includes("bot") }));
  const people = state.users.filter((u) => !u.bot && u.active);
  $("me").replaceChildren(...people.map((u) => option(u.id, `${u.name || u.username} (@${u.username})`)));
  const wanted = new URLSearchParams(location.hash.slice(1));
  const first = people.find((u) => u.username === wanted.get("me")) || people[0];
  if (!first) throw new Error("This server has no people yet.");
  $("me").value = first.id;
  await become(first.id, wanted.get("room"));
}

// remember puts who and where into the address, so that it can be opened again.
function remember() {
  const where = new URLSearchParams({ me: state.me.username, ...(state.room && { room: state.room.name }) });
  history.replaceState(null, "", `#${where}`);
}

async function become(id, wanted) {
  state.wire?.close();
  state.me = state.users.find((u) => u.id === id);
  Object.assign(state, { rooms: new Map(), room: null, messages: new Map(), thread: null });
  closeThread();
  remember();
  const others = state.users.filter((u) => u.id !== id);
  $("direct").replaceChildren(option("", "choose…"), ...others.map((u) => option(u.username, `@${u.username}`)));
  const url = new URL("websocket", base);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  state.wire = new Wire(url, state.me, { status: showWire, message: heard, deleted, rooms: guarded(loadRooms), typing: showTyping });
  await loadRooms();
  const all = [...state.rooms.values()];
  const room = all.find((r) => r.name === wanted || r.name === `#${wanted}`) || all[0];
  if (room) await openRoom(room.id);
}

function showWire(text, on) {
  $("wire").textContent = text;
  $("wire").classList.toggle("on", on);
}

// --- rooms -----------------------------------------------------------------

async function loadRooms() {
  const said = await api("GET", "subscriptions.get");
  const found = (said.update || said.subscriptions || []).sort((a, b) => label(a).localeCompare(label(b)));
  state.rooms = new Map(found.map((s) => [s.rid, { id: s.rid, kind: s.t, name: label(s), unread: state.rooms.get(s.rid)?.unread || false }]));
  drawRooms();
}
const label = (s) => (s.t === "d" ? "@" : s.t === "p" ? "🔒 " : "#") + (s.fname || s.name || s.rid);

function drawRooms() {
  const rooms = [...state.rooms.values()];
  const here = state.room?.id ?? rooms[0]?.id;
  update($("rooms"), rooms, {
    key: (room) => room.id,
    mark: (room) => JSON.stringify([room.name, room.unread, room.id === here, room.id === state.room?.id]),
    make: (room) => {
      const button = el("button", room.unread ? "unread" : "", room.name);
      button.title = room.name;
      button.dir = "auto";
      button.tabIndex = room.id === here ? 0 : -1;
      button.setAttribute("aria-current", String(room.id === state.room?.id));
      button.onclick = guarded(() => openRoom(room.id));
      const item = document.createElement("li");
      item.append(button);
      return item;
    },
  });
}

async function openRoom(id) {
  state.room = state.rooms.get(id);
  state.room.unread = false;
  remember();
  closeThread();
  $("title").textContent = state.room.name;
  showSide(false);
  drawRooms();
  const found = await spoken(id);
  if (state.room?.id !== id) return;
  state.messages = new Map(found.map((m) => [m._id, m]));
  $("earlier").hidden = found.length < page;
  $("messages").replaceChildren();
  draw();
  $("messages").scrollTop = $("messages").scrollHeight;
  state.wire.watch(id);
  $("write").focus();
}

const page = 100; // messages that are read at a time

// spoken is what was said in a room, the oldest first.
async function spoken(id, until) {
  const kind = { c: "channels", p: "groups", d: "im" }[state.room.kind] || "channels";
  const query = new URLSearchParams({ roomId: id, count: page, ...(until && { latest: until.toISOString(), inclusive: true }) });
  return (await api("GET", `${kind}.history?${query}`)).messages.reverse();
}

// earlier reads what was said before what is shown, which stays where it is.
async function earlier() {
  const { room } = state, list = $("messages");
  const shown = [...state.messages.values()];
  const found = await spoken(room.id, new Date(Math.min(...shown.map(when))));
  if (state.room !== room) return;
  const known = found.filter((m) => state.messages.has(m._id)).length;
  $("earlier").hidden = found.length < page || known === found.length;
  const below = list.scrollHeight - list.scrollTop;
  state.messages = new Map([...found, ...shown].map((m) => [m._id, m]));
  draw();
  list.scrollTop = list.scrollHeight - below;
}

// --- messages --------------------------------------------------------------

function heard(message) {
  if (message.rid !== state.room?.id) {
    const room = state.rooms.get(message.rid);
    if (!room) return void guarded(loadRooms)();
    room.unread = true;
    return drawRooms();
  }
  state.messages.set(message._id, message);
  draw();
}

function deleted(id) {
  if (state.messages.delete(id)) draw();
}

const when = (m) => new Date(m.ts?.$date ?? m.ts);

function draw() {
  const all = [...state.messages.values()].sort((a, b) => when(a) - when(b));
  fill($("messages"), all.filter((m) => !m.tmid || m.tshow), false);
  if (state.thread) fill($("threadMessages"), all.filter((m) => m._id === state.thread || m.tmid === state.thread), true);
}

const nothing = { _id: "nothing" };

function fill(list, messages, inThread) {
  const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 60;
  update(list, messages.length ? messages : [nothing], {
    key: (m) => m._id,
    mark: (m) => JSON.stringify(m),
    make: (m) => (m === nothing ? el("li", "empty", "Nothing was said here yet. Write something: in a room of two a bot answers everything, elsewhere when it is @mentioned.") : row(m, inThread)),
  });
  if (atEnd) list.scrollTop = list.scrollHeight;
}

function row(m, inThread) {
  const item = document.createElement("li");
  const mine = m.u._id === state.me.id;
  item.className = "message" + (mine ? " mine" : "") + (m.t ? " system" : "") +
    ((m.mentions || []).some((u) => u._id === state.me.id) ? " mentioned" : "");
  item.dataset.id = m._id;
  const head = el("div", "head");
  const time = el("time", "", when(m).toLocaleTimeString());
  time.title = when(m).toLocaleString();
  time.dateTime = when(m).toISOString();
  head.append(el("strong", "", m.alias || m.u.name || m.u.username), time);
  if (m.editedAt) head.append(el("span", "mark", "edited"));
  if (m.pinned) head.append(el("span", "mark", "pinned"));
  const text = el("div", "text");
  text.append(m.t ? systemText(m) : render(m.msg || ""));
  item.append(head, text);
  for (const f of m.files || []) item.append(fileLink(f));
  const chips = el("div", "chips");
  for (const [emoji, who] of Object.entries(m.reactions || {})) {
    chips.append(act(`${faces[emoji] || emoji} ${who.usernames.length}`, `React with ${emoji}`, () => react(m, emoji), who.usernames.includes(state.me.username)));
  }
  if (m.tcount && !inThread) chips.append(act(`💬 ${m.tcount}`, "Open the thread", () => openThread(m._id)));
  if (chips.children.length) item.append(chips);
  if (!m.t) item.append(actions(m, mine, inThread));
  return item;
}

function fileLink(f) {
  const link = el("a", "file", `📎 ${f.name} (${Math.ceil((f.size || 0) / 1000)} kB)`);
  link.href = new URL(`file-upload/${f._id}/${encodeURIComponent(f.name)}?${new URLSearchParams({ rc_uid: state.me.id, rc_token: state.me.token })}`, base);
  link.download = f.name;
  return link;
}

function actions(m, mine, inThread) {
  const acts = el("div", "acts");
  for (const emoji of quick) acts.append(act(faces[emoji], `React with ${emoji}`, () => react(m, emoji)));
  if (!inThread) acts.append(act("💬", "Reply in a thread", () => openThread(m.tmid || m._id)));
  if (mine) acts.append(act("✎", "Edit", () => edit(m)), act("🗑", "Delete", () => api("POST", "chat.delete", { roomId: m.rid, msgId: m._id })));
  return acts;
}

const systemText = (m) => ({ uj: "joined the room", au: `added ${m.msg}`, ru: `removed ${m.msg}`, ul: "left the room", rm: "message removed", message_pinned: "pinned a message" })[m.t] || `${m.t} ${m.msg || ""}`;

function react(m, emoji) {
  const has = m.reactions?.[emoji]?.usernames.includes(state.me.username);
  return api("POST", "chat.react", { messageId: m._id, emoji, shouldReact: !has });
}

async function edit(m) {
  const text = prompt("Edit the message", m.msg);
  if (text !== null && text !== m.msg) await api("POST", "chat.update", { roomId: m.rid, msgId: m._id, text });
}

async function openThread(id) {
  state.thread = id;
  $("thread").hidden = false;
  draw();
  $("threadWrite").focus();
}

function closeThread() {
  if (!state.thread) return;
  const inside = $("thread").contains(document.activeElement);
  state.thread = null;
  $("thread").hidden = true;
  if (inside) $("write").focus();
}

// showSide shows the rooms where the screen is too narrow to have them always.
function showSide(open) {
  const inside = $("side").contains(document.activeElement);
  $("side").classList.toggle("open", open);
  $("menu").setAttribute("aria-expanded", String(open));
  if (open) $("rooms").querySelector("button[tabindex='0']")?.focus();
  else if (inside) $("menu").focus();
}

// --- writing ---------------------------------------------------------------

async function send(box, thread) {
  const msg = box.value.trim();
  if (!msg || !state.room) return;
  box.value = "";
  try {
    await api("POST", "chat.sendMessage", { message: { rid: state.room.id, msg, ...(thread && { tmid: thread }) } });
  } catch (error) {
    box.value = msg;
    throw error;
  }
}

function writer(form, box, thread) {
  form.onsubmit = (event) => { event.preventDefault(); guarded(send)(box, thread()); };
  box.onkeydown = (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); guarded(send)(box, thread()); }
    if (event.key === "ArrowUp" && !box.value) guarded(editLast)();
  };
}

function editLast() {
  const mine = [...state.messages.values()].filter((m) => m.u._id === state.me.id && !m.t).sort((a, b) => when(b) - when(a))[0];
  if (mine) return edit(mine);
}

function showTyping(room, names) {
  state.typing.set(room, names);
  const here = room === state.room?.id ? names.filter((n) => n !== state.me.username && n !== state.me.name) : [];
  if (room === state.room?.id) $("typing").textContent = here.length ? `${here.join(", ")} ${here.length > 1 ? "are" : "is"} typing…` : "";
}

// --- small things ----------------------------------------------------------

function option(value, text) {
  const o = document.createElement("option");
  o.value = value;
  o.textContent = text;
  return o;
}

function el(tag, className, text) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  if (text) e.textContent = text;
  return e;
}

function act(face, title, work, pressed) {
  const b = el("button", "", face);
  b.type = "button";
  b.title = title;
  b.setAttribute("aria-label", title);
  if (pressed !== undefined) b.setAttribute("aria-pressed", String(pressed));
  b.onclick = guarded(work);
  return b;
}

$("me").onchange = guarded(() => become($("me").value));
$("direct").onchange = guarded(async () => {
  const username = $("direct").value;
  if (!username) return;
  $("direct").value = "";
  const said = await api("POST", "im.create", { username });
  await loadRooms();
  await openRoom(said.room._id || said.room.rid);
});
$("menu").onclick = (event) => {
  event.stopPropagation();
  showSide(!$("side").classList.contains("open"));
};
document.querySelector("main").onclick = () => $("side").classList.contains("open") && showSide(false);
$("closeThread").onclick = closeThread;
$("earlier").onclick = guarded(earlier);
document.onkeydown = (event) => {
  if (event.key !== "Escape" || event.isComposing) return;
  if ($("side").classList.contains("open")) showSide(false);
  else closeThread();
};
rove($("rooms"));
writer($("form"), $("write"), () => undefined);
writer($("threadForm"), $("threadWrite"), () => state.thread);
guarded(start)();
