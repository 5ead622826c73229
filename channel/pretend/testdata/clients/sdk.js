'use strict';
// @rocket.chat/sdk 0.2.9 logs in with a password, hears one message that
// mentions it, and answers in the same room.
const { driver } = require('@rocket.chat/sdk');

const { PRETEND_URL, PRETEND_USERNAME, PRETEND_PASSWORD, PRETEND_ROOM } = process.env;
const quiet = () => {};
driver.useLog({ debug: quiet, info: quiet, warn: quiet, warning: quiet, error: quiet });

async function main() {
  await driver.connect({ host: PRETEND_URL, useSsl: false });
  const id = await driver.login({ username: PRETEND_USERNAME, password: PRETEND_PASSWORD });
  console.log(JSON.stringify({ login: id }));
  await driver.subscribeToMessages();
  // The SDK asks git for a fork of asteroid, which takes changes of a document
  // that was never added, as all stream events are ("id" is their only id).
  // The registry's asteroid, which package.json puts in its place, wants the
  // document to be there.
  driver.messages._set.put('id', { _id: 'id' });
  driver.reactToMessages(async (err, message, meta) => {
    if (err) throw err;
    if (message.u._id === id || !message.msg) return;
    console.log(JSON.stringify({ heard: message.msg, participant: meta.roomParticipant, kind: meta.roomType }));
    const room = await driver.getRoomId(PRETEND_ROOM);
    await driver.sendToRoomId('sdk: ' + message.msg, room);
    console.log(JSON.stringify({ sent: room }));
    await driver.disconnect();
    process.exit(0);
  });
  console.log(JSON.stringify({ ready: true }));
}

main().catch((e) => { console.error(e); process.exit(1); });
