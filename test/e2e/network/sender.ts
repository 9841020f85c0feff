/**
 * Sends packets from the network namespace in which it is started, each from the next source port.
 *
 * node sender.ts <JSON of Packets>
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, isIPv6 } from 'node:net';
import { argv } from 'node:process';
import { setImmediate as nextTurn } from 'node:timers/promises';

export interface Packets {
  /** `tcp`: one SYN each, if nothing answers. `udp`: one datagram each. */
  readonly protocol: 'tcp' | 'udp';
  readonly source: string;
  readonly destination: string;
  readonly port: number;
  readonly sourcePorts: readonly number[];
}

if (import.meta.main) await send(JSON.parse(argv[2] ?? '') as Packets);

async function send(packets: Packets): Promise<void> {
  const sendOne = packets.protocol === 'tcp' ? sendSyn : sendDatagram;
  for (const sourcePort of packets.sourcePorts) await sendOne(packets, sourcePort);
}

async function sendDatagram({ source, destination, port }: Packets, sourcePort: number): Promise<void> {
  const socket = createSocket(isIPv6(source) ? 'udp6' : 'udp4');
  socket.bind(sourcePort, source);
  await once(socket, 'listening');
  await new Promise<void>((resolve, reject) => {
    socket.send('', port, destination, (error) => (error ? reject(error) : resolve()));
  });
  socket.close();
}

// The SYN has left when connect(2) returns, and a socket closed before its time-out of 1 s does not repeat it.
async function sendSyn({ source, destination, port }: Packets, sourcePort: number): Promise<void> {
  const socket = connect({ host: destination, port, localAddress: source, localPort: sourcePort });
  const closed = new Promise((resolve) => socket.on('close', resolve));
  let failure: NodeJS.ErrnoException | undefined;
  socket.on('error', (error) => (failure = error));
  await nextTurn();
  socket.destroy();
  await closed;
  if (failure !== undefined && failure.code !== 'ECONNREFUSED') throw failure;
}
