// Uses a server with the npm package redis, unchanged: node client.mjs PORT
import assert from 'node:assert/strict';
import { createClient } from 'redis';

for (const RESP of [2, 3]) {
  const client = createClient({ url: `redis://127.0.0.1:${process.argv[2]}`, RESP });
  await client.connect();
  const name = `node${RESP}`;
  assert.equal(await client.ping(), 'PONG');
  assert.equal(await client.bf.reserve(name, 0.01, 1000), 'OK');
  await assert.rejects(client.bf.reserve(name, 0.01, 1000), /item exists/);
  assert.equal(await client.bf.add(name, 'a'), true);
  assert.equal(await client.bf.add(name, 'a'), false);
  assert.deepEqual(await client.bf.mAdd(name, ['a', 'b', 'c']), [false, true, true]);
  assert.equal(await client.bf.exists(name, 'b'), true);
  assert.deepEqual(await client.bf.mExists(name, ['b', 'x']), [true, false]);
  assert.equal(await client.bf.card(name), 3);
  assert.deepEqual(await client.bf.insert(name, ['c', 'd']), [false, true]);
  const information = await client.bf.info(name);
  assert.equal(Number(information['Number of items inserted']), 4);
  // Requests that are sent together are one pipeline.
  const keys = Array.from({ length: 1000 }, (_, key) => `key${key}`);
  const added = await Promise.all(keys.map((key) => client.sAdd(`${name}-set`, key)));
  assert.equal(added.reduce((sum, one) => sum + one, 0), 1000);
  assert.equal(await client.sIsMember(`${name}-set`, 'key7'), 1);
  const [ticket] = await client.sendCommand(['DEDUP.CLAIM', name, 'work']);
  assert.ok(ticket > 0 && Number.isSafeInteger(ticket));
  assert.deepEqual(await client.sendCommand(['DEDUP.COMMIT', name, String(ticket)]), [1]);
  await client.close();
}
console.log('the npm package redis works');
