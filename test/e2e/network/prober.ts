/**
 * Sends one packet for each probe in the list on its standard input, from the network namespace in which it is started:
 * a SYN that nothing answers, or a datagram.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, isIPv6 } from 'node:net';
import { json } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';

export interface Probe {
  readonly protocol: 'tcp' | 'udp' | 'sctp';
  readonly source: string;
  readonly sourcePort: number;
  readonly destination: string;
  readonly port: number;
}

if (import.meta.main) {
  for (const probe of (await json(process.stdin)) as Probe[])
    await (probe.protocol === 'tcp' ? sendSyn : sendDatagram)(probe);
}

async function sendDatagram({ source, sourcePort, destination, port }: Probe): Promise<void> {
  const socket = createSocket(isIPv6(source) ? 'udp6' : 'udp4');
  socket.bind(sourcePort, source);
  await once(socket, 'listening');
  await new Promise<void>((resolve, reject) => {
    socket.send('', port, destination, (error) => (error ? reject(error) : resolve()));
  });
  socket.close();
}

/** The SYN has left when connect(2) returns, and a socket closed before its time-out of 1 s does not repeat it. */
async function sendSyn({ source, sourcePort, destination, port }: Probe): Promise<void> {
  const socket = connect({ host: destination, port, localAddress: source, localPort: sourcePort });
  // An admitted SYN is refused, because no Pod listens.
  socket.on('error', () => {});
  const closed = new Promise((resolve) => socket.on('close', resolve));
  await nextTurn();
  socket.destroy();
  await closed;
}
