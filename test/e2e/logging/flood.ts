/**
 * Sends empty UDP datagrams from the network namespace in which it is started as fast as it can, all from one socket.
 *
 * node flood.ts ADDRESS PORT COUNT
 */
import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { argv } from 'node:process';

const [address = '', port = '', count = ''] = argv.slice(2);
const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
for (let sent = 0; sent < Number(count); sent += 100) {
  await Promise.all(
    Array.from(
      { length: 100 },
      () =>
        new Promise<void>((resolve, reject) => {
          socket.send('', Number(port), address, (error) => (error === null ? resolve() : reject(error)));
        }),
    ),
  );
}
socket.close();
