/**
 * Forwards connections from one place to another one: a Unix socket is reached from all network namespaces.
 *
 * node relay.ts FROM TO: each is a path or HOST:PORT. Prints a line when it listens.
 */
import { connect, createServer, type NetConnectOpts } from 'node:net';
import { argv, stdout } from 'node:process';
import { joinSockets } from './sockets.ts';

const [, , from = '', to = ''] = argv;
createServer((near) => joinSockets(near, connect(place(to)))).listen(place(from), () => stdout.write('listening\n'));

function place(text: string): NetConnectOpts {
  if (text.startsWith('/')) return { path: text };
  const colon = text.lastIndexOf(':');
  return { host: text.slice(0, colon), port: Number(text.slice(colon + 1)) };
}
