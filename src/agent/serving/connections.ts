import type { Duplex } from 'node:stream';
import type { Millis } from '../../base/model/log-line.ts';
import { createTokenBucket, type TokenBucket } from '../../base/platform/rates.ts';
import { LRUCache } from 'lru-cache';

export interface ConnectionLimits {
  /** The most connections of strangers, and as many of trusted clients. */
  readonly total: number;
  readonly perAddress: number;
  /** New connections of one stranger's address; undefined: any number. */
  readonly rate?: { readonly rate: number; readonly burst: number } | undefined;
}

export interface ClientConnection {
  readonly address: string;
  readonly socket: Pick<Duplex, 'destroy'>;
  /** Whether strangers cannot push it out: the node's own connections, and agents. */
  isClose: boolean;
  isAnswering: boolean;
}

export interface ConnectionRoom {
  /** Returns false if the address opens too many a second. */
  admit: (address: string) => boolean;
  enter: (connection: ClientConnection) => void;
  leave: (connection: ClientConnection) => void;
  /** Makes a connection trusted, so that strangers cannot push it out. */
  approve: (connection: ClientConnection) => void;
}

const rememberedAddresses = 2048;

/** Keeps the newest connections: past a limit, closes the oldest idle one, of the same address or of the address with the most. */
export function createConnectionRoom(
  limits: ConnectionLimits,
  isClose: (address: string) => boolean,
  now: () => Millis,
): ConnectionRoom {
  const rooms = { close: createPart(limits), others: createPart(limits) };
  const buckets = new LRUCache<string, TokenBucket>({ max: rememberedAddresses });
  const partOf = (connection: ClientConnection) => (connection.isClose ? rooms.close : rooms.others);

  return {
    admit(address) {
      if (limits.rate === undefined || isClose(address)) return true;
      let bucket = buckets.get(address);
      if (bucket === undefined) buckets.set(address, (bucket = createTokenBucket(limits.rate)));
      return bucket.take(now());
    },
    enter(connection) {
      connection.isClose = isClose(connection.address);
      partOf(connection).add(connection);
    },
    leave: (connection) => partOf(connection).remove(connection),
    approve(connection) {
      if (connection.isClose) return;
      rooms.others.remove(connection);
      connection.isClose = true;
      rooms.close.add(connection);
    },
  };
}

function createPart(limits: ConnectionLimits) {
  const open = new Map<string, Set<ClientConnection>>();
  let count = 0;

  return { add, remove };

  function add(connection: ClientConnection): void {
    const own = open.get(connection.address) ?? new Set();
    open.set(connection.address, own.add(connection));
    count++;
    if (own.size > limits.perAddress) closeOne(own, connection);
    else if (count > limits.total) closeOne(largest(), connection);
  }

  function remove(connection: ClientConnection): void {
    const own = open.get(connection.address);
    if (own?.delete(connection) !== true) return;
    count--;
    if (own.size === 0) open.delete(connection.address);
  }

  function closeOne(connections: ReadonlySet<ClientConnection>, newest: ClientConnection): void {
    const older = [...connections].filter((each) => each !== newest);
    const chosen = older.find(({ isAnswering }) => !isAnswering) ?? older[0];
    if (chosen === undefined) return;
    remove(chosen);
    chosen.socket.destroy();
  }

  function largest(): ReadonlySet<ClientConnection> {
    return [...open.values()].reduce((most, each) => (each.size > most.size ? each : most));
  }
}
