import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Millis } from '../model/log-line.ts';
import { type Answer, type Asked, isRefusal, isServedHost, readHead, type Refusal, unknownHost } from './requests.ts';

export interface ConversationOptions {
  /** The longest time to send a request; twice as long to take the answer. */
  readonly timeout: Millis;
  /** The longest time between two requests of a connection; 0: each connection has one. */
  readonly idleTimeout: Millis;
  /** The most bytes of a head. */
  readonly longestHead: number;
  /** Whether a name is one of this program's own, beside addresses and names of Services. */
  readonly isOwnHost: (host: string) => boolean;
  /** `approve`: strangers cannot push this connection out any more. */
  readonly answer: (asked: Asked, address: string, approve: () => void) => Promise<Answer>;
  /** What is not answered as a request. */
  readonly refuse: (refusal: Refusal) => Answer;
  readonly onAnswering: (isAnswering: boolean) => void;
  readonly onApproved?: (() => void) | undefined;
}

export interface Conversation {
  /** Ends the connection after the answer that is under way. */
  finish: () => void;
}

const blankLine = Buffer.from('\r\n\r\n');
const none = Buffer.alloc(0);

/** Reads one request, and nothing more before its answer is taken: what else the client has sent waits unread, and ends the connection. */
export function converse(socket: Socket, address: string, options: ConversationOptions): Conversation {
  const { timeout, idleTimeout, longestHead, onAnswering } = options;
  let received: Buffer = none;
  let isAnswering = false;
  let isLast = idleTimeout === 0;
  let deadline = destroyAfter(socket, timeout);

  socket.on('error', () => {});
  socket.on('data', take);
  // Who has closed its side without a request gets none.
  socket.on('end', () => {
    if (!isAnswering) socket.destroy();
  });
  socket.once('close', () => {
    clearTimeout(deadline);
    received = none;
  });
  return {
    finish() {
      isLast = true;
    },
  };

  function take(chunk: Buffer): void {
    if (isAnswering) {
      isLast = true;
      return;
    }
    if (received.length === 0) expectWithin(timeout);
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    // A blank line before a request is not part of it.
    while (received[0] === 13 && received[1] === 10) received = received.subarray(2);
    const end = received.subarray(0, longestHead + blankLine.length).indexOf(blankLine);
    if (end < 0) {
      if (received.length > longestHead) void respond(tooLong);
      return;
    }
    // More than one request at once: the connection ends after the first.
    if (received.length > end + blankLine.length) isLast = true;
    const asked = readHead(received.toString('latin1', 0, end));
    if (isRefusal(asked)) return void respond(asked);
    void respond(isServedHost(asked, options.isOwnHost) ? asked : unknownHost, asked);
  }

  async function respond(what: Asked | Refusal, asked?: Asked): Promise<void> {
    isAnswering = true;
    received = none;
    socket.pause();
    onAnswering(true);
    expectWithin(2 * timeout);
    const answer = isRefusal(what)
      ? options.refuse(what)
      : await options.answer(what, address, () => options.onApproved?.());
    if (socket.destroyed) return;
    if (isRefusal(what) || asked?.keepsAlive !== true) isLast = true;
    send(socket, answer, { isLast, withBody: asked?.method !== 'HEAD', onTaken });
  }

  function onTaken(error?: Error | null): void {
    if (error || socket.destroyed) return;
    isAnswering = false;
    onAnswering(false);
    if (isLast) {
      socket.destroySoon();
      return;
    }
    expectWithin(idleTimeout);
    socket.resume();
  }

  function expectWithin(time: Millis): void {
    clearTimeout(deadline);
    deadline = destroyAfter(socket, time);
  }
}

function send(
  socket: Socket,
  answer: Answer,
  { isLast, withBody, onTaken }: { isLast: boolean; withBody: boolean; onTaken: (error?: Error | null) => void },
): void {
  socket.cork();
  socket.write(headOf(answer, isLast), 'latin1');
  if (withBody) socket.write(answer.body);
  if (isLast) {
    socket.destroySoon();
    return;
  }
  socket.write(none, onTaken);
  socket.uncork();
}

const tooLong: Refusal = { status: 431, text: 'The head of this request is too long.\n' };

function destroyAfter(socket: Socket, time: Millis): NodeJS.Timeout {
  return setTimeout(() => socket.destroy(), time).unref();
}

function headOf({ status, type, body, headers = {} }: Answer, isLast: boolean): string {
  const all = {
    'content-type': type,
    'content-length': String(body.length),
    'x-content-type-options': 'nosniff',
    ...headers,
    date: new Date().toUTCString(),
    connection: isLast ? 'close' : 'keep-alive',
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n`;
}
