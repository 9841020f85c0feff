/** node relay.ts <port> <path>: what connects to 127.0.0.1:port is handed on to a Unix socket. Prints a line when it listens. */
import { connect, createServer } from 'node:net';
import { argv, stdout } from 'node:process';
import { joinSockets } from '../sockets.ts';

const [, , port, path = ''] = argv;
createServer((near) => joinSockets(near, connect(path))).listen(Number(port), '127.0.0.1', () =>
  stdout.write('listening\n'),
);
