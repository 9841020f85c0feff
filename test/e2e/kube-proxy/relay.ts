/** node relay.ts <port> <path>: what connects to 127.0.0.1:port is handed on to a Unix socket. Prints a line when it listens. */
import { connect, createServer } from 'node:net';
import { argv, stdout } from 'node:process';

const [, , port, path = ''] = argv;
createServer((near) => {
  const far = connect(path);
  near.pipe(far).pipe(near);
  for (const [from, to] of [
    [near, far],
    [far, near],
  ] as const)
    from.on('error', () => to.destroy()).on('close', () => to.destroy());
}).listen(Number(port), '127.0.0.1', () => stdout.write('listening\n'));
