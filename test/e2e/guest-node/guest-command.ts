/** node guest-command.ts ADDRESS -- COMMAND …: runs a command on a guest as root (guest-shell.ts), with this PATH, and ends as it ends. */
import { connect } from 'node:net';
import { type Command, Part, SHELL_PORT } from './guest-shell.ts';

const [, , host, , ...command] = process.argv;
// Bash takes the pipes of Node.js for an rsh connection and would read ~/.bashrc if it were the first shell.
const request: Command = { command, env: { PATH: process.env['PATH'], SHLVL: '1' } };
const socket = connect({ host: host ?? '', port: SHELL_PORT, allowHalfOpen: true });
// A guest that is switched off sends nothing, so its commands end within a minute.
socket.setKeepAlive(true, 30_000);
socket.on('error', ({ message }) => {
  console.error(message);
  process.exitCode = 255;
});
process.exitCode = 255;
socket.write(`${JSON.stringify(request)}\n`);
process.stdin.pipe(socket);
let rest = Buffer.alloc(0);
socket.on('data', (data) => {
  rest = Buffer.concat([rest, data]);
  while (rest.length >= 5) {
    const [part, end] = [rest.readUInt8(), 5 + rest.readUInt32BE(1)];
    if (rest.length < end) return;
    take(part, rest.subarray(5, end));
    rest = rest.subarray(end);
  }
});
// The reader of its output may have ended.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => process.exit(255));
// Unread input does not matter any more.
socket.on('end', () => {
  process.stdin.destroy();
  socket.end();
});

function take(part: number, data: Buffer): void {
  if (part === Part.status) process.exitCode = Number(data.toString());
  else (part === Part.stdout ? process.stdout : process.stderr).write(data);
}
