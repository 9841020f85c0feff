/**
 * Sends empty UDP datagrams from its network namespace, all from one socket: as fast as it can, or RATE a second.
 *
 * node datagrams.ts ADDRESS PORT COUNT [RATE]
 */
import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { argv } from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';

const [address = '', port = '', count = '', rate = 'Infinity'] = argv.slice(2);
const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
const began = performance.now();
for (let sent = 0; sent < Number(count);) {
  const due = Math.min(Number(count), sent + 100, Math.floor(((performance.now() - began) / 1000) * Number(rate)));
  const sending: Promise<unknown>[] = [];
  for (; sent < due; sent++) {
    const done = Promise.withResolvers<unknown>();
    // A datagram that is dropped on its way is not an error.
    socket.send('', Number(port), address, done.resolve);
    sending.push(done.promise);
  }
  await Promise.all(sending);
  if (rate !== 'Infinity') await delay(1);
}
socket.close();
