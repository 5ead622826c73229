// The part of Rocket.Chat's Markdown that people use most, as DOM nodes. Text
// never becomes HTML. What marks a word begins and ends at its edges, so that
// snake_case and 2*3*4 stay what they are.
const edged = (mark) => `(?<![\\w${mark}])\\${mark}{1,2}(?=\\S)[^${mark}\\n]+?(?<=\\S)\\${mark}{1,2}(?![\\w${mark}])`;
const inline = new RegExp([
  "(?<code>`[^`\\n]+`)",
  "(?<link>\\[[^\\]\\n]+\\]\\(https?://[^\\s)]+\\)|https?://[^\\s<>\"]*[^\\s<>\".,;:!?)\\]])",
  `(?<strong>${edged("*")})`,
  `(?<em>${edged("_")})`,
  `(?<s>${edged("~")})`,
  "(?<at>(?<![\\w@.])@[\\w.-]*\\w)",
].join("|"), "g");

export function render(text) {
  const all = document.createDocumentFragment();
  const pieces = text.split(/^```[^\n`]*\n([\s\S]*?)^```[ \t]*$\n?/m);
  pieces.forEach((piece, i) => (i % 2 ? all.append(node("pre", node("code", piece))) : quotes(piece, all)));
  return all;
}

// quotes sets lines that begin with > apart.
function quotes(text, into) {
  for (const run of text.match(/(?:^> ?.*(?:\n|$))+|(?:^(?!>).*(?:\n|$))+/gm) || []) {
    if (!run.startsWith(">")) {
      spans(run, into);
      continue;
    }
    const quote = node("blockquote", "");
    spans(run.replace(/^> ?/gm, "").replace(/\n$/, ""), quote);
    into.append(quote);
  }
}

function spans(text, into) {
  let last = 0;
  for (const m of text.matchAll(inline)) {
    into.append(text.slice(last, m.index));
    const kind = Object.keys(m.groups).find((k) => m.groups[k] !== undefined);
    into.append(span(kind, m[0]));
    last = m.index + m[0].length;
  }
  into.append(text.slice(last));
}

function span(kind, whole) {
  if (kind === "link") return link(whole);
  if (kind === "at") return Object.assign(node("span", whole), { className: "at" });
  return node(kind, whole.replace(/^(\*{1,2}|_{1,2}|~{1,2}|`)|(\*{1,2}|_{1,2}|~{1,2}|`)$/g, ""));
}

function link(whole) {
  const [, words, to] = whole.match(/^\[(.+)\]\((.+)\)$/) || [, whole, whole];
  return Object.assign(node("a", words), { href: to, target: "_blank", rel: "noopener noreferrer" });
}

function node(tag, content) {
  const e = document.createElement(tag);
  e.append(content);
  return e;
}
