/**
 * Hands on what connects to an address of the machine, as kube-proxy's rules would send it to the API server, through a Unix socket,
 * which is reached from all network namespaces.
 *
 * node api-relay.ts ADDRESS PORT SOCKET; prints a line when it listens.
 */
import { connect, createServer } from 'node:net';
import { argv, stdout } from 'node:process';
import { joinSockets } from '../sockets.ts';

const [, , address = '', port, socket = ''] = argv;
createServer((near) => joinSockets(near, connect(socket))).listen(Number(port), address, () =>
  stdout.write('listening\n'),
);
