/**
 * Runs commands on the machine on which it runs, for guest-command.ts. A connection is one command: first a line of JSON (Command), then its
 * standard input. Back come parts of its output, each with five bytes before it: what it is (Part) and its length; the last one is the status.
 */
import { spawn } from 'node:child_process';
import { createServer, type Socket } from 'node:net';

export interface Command {
  readonly command: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

export const Part = { stdout: 1, stderr: 2, status: 3 } as const;

export const SHELL_PORT = 2022;

if (import.meta.main) createServer({ allowHalfOpen: true }, serve).listen(SHELL_PORT);

function serve(socket: Socket): void {
  socket.on('error', () => {});
  let head = Buffer.alloc(0);
  socket.on('data', function readHead(data) {
    head = Buffer.concat([head, data]);
    const end = head.indexOf('\n');
    if (end === -1) return;
    socket.off('data', readHead);
    start(socket, JSON.parse(head.toString('utf8', 0, end)) as Command, head.subarray(end + 1));
  });
}

function start(socket: Socket, { command: [program = '', ...args], env }: Command, input: Buffer): void {
  const child = spawn(program, args, { env, stdio: 'pipe' });
  const send = (part: number, data: Buffer): void => {
    const head = Buffer.alloc(5);
    head.writeUInt8(part);
    head.writeUInt32BE(data.length, 1);
    socket.write(Buffer.concat([head, data]));
  };
  child.stdin.on('error', () => {}).write(input);
  socket.pipe(child.stdin);
  child.stdout.on('data', (data: Buffer) => send(Part.stdout, data));
  child.stderr.on('data', (data: Buffer) => send(Part.stderr, data));
  child.on('error', (error) => send(Part.stderr, Buffer.from(`${error.message}\n`)));
  child.on('close', (code, signal) => {
    send(Part.status, Buffer.from(`${signal === null ? code : 255}`));
    socket.end();
  });
  socket.on('close', () => child.kill('SIGKILL'));
}
