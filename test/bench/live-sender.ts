/**
 * Sends UDP datagrams evenly from the network namespace in which it is started, and prints how many at its end.
 *
 *     node test/bench/live-sender.ts --to 10.0.0.2 --rate 1000 --seconds 10
 */
import { createSocket } from 'node:dgram';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { to: { type: 'string' }, rate: { type: 'string' }, seconds: { type: 'string' } },
});
const [rate, seconds] = [Number(values.rate), Number(values.seconds)];
const socket = createSocket('udp4');
const began = performance.now();
let sent = 0;
while (sent < rate * seconds) {
  const due = Math.min(rate * seconds, Math.floor(((performance.now() - began) / 1000) * rate));
  const sending: Promise<unknown>[] = [];
  for (; sent < due; sent++) {
    const done = Promise.withResolvers<unknown>();
    // A datagram that is dropped on its way is no error.
    socket.send('', 5000, values.to, () => done.resolve(undefined));
    sending.push(done.promise);
  }
  await Promise.all(sending);
  await delay(1);
}
socket.close();
process.stdout.write(`${sent}\n`);
