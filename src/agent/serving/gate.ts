import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/** Bounds the bytes that a server reads of a connection: after a request none, until it may continue. */
export interface Gate {
  readonly stream: Duplex;
  /** Whether unread bytes wait. */
  readonly hasMore: boolean;
  shut: () => void;
  open: () => void;
}

/**
 * The most bytes that are read at once. A parser reads all requests of what it gets, and cannot be stopped in between: 64 KiB, as a socket
 * gives them, would be 2,600 requests.
 */
const piece = 256;
const none = Buffer.alloc(0);

/** `onBegin`: the first bytes after a while without any, or after an answer, have come. */
export function createGate(socket: Socket, onBegin: () => void): Gate {
  let waiting: Buffer = none;
  let isShut = false;
  let isWanted = false;
  let isIdle = true;
  let isEnded = false;

  const stream = new Duplex({
    // Reads nothing in advance.
    readableHighWaterMark: 1,
    read() {
      isWanted = true;
      give();
    },
    write: (chunk: Buffer, encoding, done) => void socket.write(chunk, encoding, done),
    writev(chunks, done) {
      socket.cork();
      for (const [index, { chunk, encoding }] of chunks.entries())
        socket.write(chunk as Buffer, encoding, index === chunks.length - 1 ? done : undefined);
      socket.uncork();
    },
    final(done) {
      socket.destroySoon();
      done();
    },
    destroy(error, done) {
      socket.destroy();
      done(error);
    },
  });
  stream.on('error', () => {});
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    socket.pause();
    waiting = chunk;
    if (isIdle) onBegin();
    isIdle = false;
    give();
  });
  socket.once('end', () => {
    isEnded = true;
    give();
  });
  socket.once('close', () => {
    waiting = none;
    stream.destroy();
  });
  return {
    stream,
    get hasMore() {
      return waiting.length > 0;
    },
    shut() {
      isShut = true;
    },
    open() {
      isShut = false;
      isIdle = true;
      give();
    },
  };

  function give(): void {
    if (!isWanted || isShut) return;
    if (waiting.length === 0 && !isEnded) {
      socket.resume();
      return;
    }
    isWanted = false;
    const next = waiting.subarray(0, piece);
    waiting = waiting.subarray(piece);
    stream.push(next.length === 0 ? null : next);
  }
}
