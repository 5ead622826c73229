// Reads a JSON list of texts from stdin and writes, for each, the list of user
// names that Rocket.Chat's own message parser finds mentioned in it.
const { parse } = require('@rocket.chat/message-parser');

const names = (node, found) => {
	if (Array.isArray(node)) {
		node.forEach((n) => names(n, found));
	} else if (node && typeof node === 'object') {
		if (node.type === 'MENTION_USER') {
			found.push(node.value.value);
		} else {
			names(node.value, found);
			names(node.label, found);
		}
	}
	return found;
};

let input = '';
process.stdin.on('data', (chunk) => (input += chunk));
process.stdin.on('end', () => process.stdout.write(JSON.stringify(JSON.parse(input).map((text) => names(parse(text), [])))));
