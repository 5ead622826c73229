// The part of Rocket.Chat's Markdown that people use most, as DOM nodes. Text
// never becomes HTML.
const inline = /(`[^`\n]+`)|(\*\*?[^*\n]+\*\*?)|(__?[^_\n]+__?)|(~~?[^~\n]+~~?)|(@[\w.-]+)/g;

export function render(text) {
  const all = document.createDocumentFragment();
  const pieces = text.split(/^```[^\n`]*\n([\s\S]*?)^```[ \t]*$\n?/m);
  pieces.forEach((piece, i) => {
    if (i % 2) all.append(node("pre", node("code", piece)));
    else spans(piece, all);
  });
  return all;
}

function spans(text, into) {
  let last = 0;
  for (const m of text.matchAll(inline)) {
    into.append(text.slice(last, m.index));
    const [whole, code, bold, italic, struck] = m;
    const bare = whole.replace(/^(\*\*?|__?|~~?|`)|(\*\*?|__?|~~?|`)$/g, "");
    if (code) into.append(node("code", bare));
    else if (bold) into.append(node("strong", bare));
    else if (italic) into.append(node("em", bare));
    else if (struck) into.append(node("s", bare));
    else into.append(at(whole));
    last = m.index + whole.length;
  }
  into.append(text.slice(last));
}

function node(tag, content) {
  const e = document.createElement(tag);
  e.append(content);
  return e;
}

function at(text) {
  const e = node("span", text);
  e.className = "at";
  return e;
}
