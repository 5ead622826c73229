// Lists that change while they are read: what is the same stays the same
// element, so that neither the focus, nor a selection, nor the place that is
// looked at is lost when something new comes.

const drawn = new WeakMap(); // by element: what it shows, as key and mark

// update makes a list show items, in their order. key names an item, mark is
// all that can be seen of it, and make draws it.
export function update(list, items, { key, mark, make }) {
  const old = new Map([...list.children].map((e) => [drawn.get(e)?.key, e]));
  const focus = list.contains(document.activeElement) ? document.activeElement : null;
  const within = focus && [...list.children].find((e) => e.contains(focus));
  const lost = within && drawn.get(within)?.key;
  let at = list.firstElementChild;
  for (const item of items) {
    const now = { key: key(item), mark: mark(item) };
    let e = old.get(now.key);
    old.delete(now.key);
    if (e && drawn.get(e).mark !== now.mark) {
      if (at === e) at = e.nextElementSibling;
      e.remove();
      e = null;
    }
    if (!e) drawn.set((e = make(item)), now);
    if (e === at) at = e.nextElementSibling;
    else list.insertBefore(e, at);
  }
  for (const e of old.values()) e.remove();
  if (focus && !focus.isConnected) refocus(list, lost, focus.title);
}

// refocus finds the button again that was drawn anew while it had the focus.
function refocus(list, key, title) {
  const again = [...list.children].find((e) => drawn.get(e)?.key === key);
  const buttons = [...(again?.querySelectorAll("button") || [])];
  (buttons.find((b) => b.title === title) || buttons[0] || list).focus();
}

// rove makes a list of buttons one stop of the Tab key; the arrows, Home and End
// go about in it.
export function rove(list) {
  list.addEventListener("keydown", (event) => {
    const all = [...list.querySelectorAll("button")];
    const at = all.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (at < 0 || to === undefined || !all[to]) return;
    event.preventDefault();
    all[at].tabIndex = -1;
    all[to].tabIndex = 0;
    all[to].focus();
  });
}
