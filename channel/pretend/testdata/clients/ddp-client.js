'use strict';
// @rocket.chat/ddp-client 1.1.2 logs in with a token, hears one message, and
// answers over REST in the same room.
globalThis.WebSocket = globalThis.WebSocket || require('ws');
const { DDPSDK } = require('@rocket.chat/ddp-client');

const { PRETEND_URL, PRETEND_TOKEN, PRETEND_ROOM_ID } = process.env;

async function main() {
  const sdk = await DDPSDK.createAndConnect(PRETEND_URL);
  await sdk.account.loginWithToken(PRETEND_TOKEN);
  console.log(JSON.stringify({ login: sdk.account.uid || (sdk.account.user && sdk.account.user.id) }));
  sdk.rest.setCredentials(sdk.account.uid, PRETEND_TOKEN);
  const stream = sdk.stream('room-messages', '__my_messages__', async (message, meta) => {
    if (message.u._id === sdk.account.uid) return;
    console.log(JSON.stringify({ heard: message.msg, participant: meta.roomParticipant, kind: meta.roomType }));
    const reply = await sdk.rest.post('/v1/chat.sendMessage', { message: { rid: PRETEND_ROOM_ID, msg: 'ddp-client: ' + message.msg } });
    console.log(JSON.stringify({ sent: reply.message.rid }));
    stream.stop();
    process.exit(0);
  });
  await stream.ready();
  console.log(JSON.stringify({ ready: true }));
}

main().catch((e) => { console.error(e); process.exit(1); });
