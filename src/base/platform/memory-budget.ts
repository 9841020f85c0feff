/**
 * One budget of bytes for everything that is kept of tenants' objects. If it is full, the Namespace with the most loses its own objects, so
 * no Namespace takes another's room.
 */
import { totalmem } from 'node:os';
import { hashOf } from './hash.ts';
import { createMemoryShares, type Ledger, type MemoryAccountOptions, ranks, type ShareEntry } from './memory-shares.ts';
import type { Bytes } from './weight.ts';

export { type MemoryAccountOptions, ranks };

export interface MemoryBudget {
  readonly total: Bytes;
  readonly bytes: Bytes;
  readonly accounts: Iterable<MemoryAccount>;
  readonly open: (options: MemoryAccountOptions) => MemoryAccount;
}

export interface MemoryAccount {
  readonly resource: string;
  readonly bytes: Bytes;
  /** The number of objects that had no room when they were last set. */
  readonly leftOut: number;
  has: (key: string) => boolean;
  keys: () => Iterable<string>;
  /** Sets the weight of an object. Returns false if it is left out. `namespace`: '' for objects of the cluster. */
  set: (key: string, namespace: string, bytes: Bytes) => boolean;
  /** Counts an object as left out that was discarded while it was read. */
  leaveOut: (key: string) => void;
  /** The object was deleted, whether it was kept or not. */
  delete: (key: string) => void;
  forgetLeftOut: () => void;
  /** Forgets everything. */
  close: () => void;
}

export interface MemoryBudgetOptions {
  readonly total: Bytes;
  /** Whether the Namespace's objects are left out last, up to half of the budget. */
  readonly isPreferred: (namespace: string) => boolean;
  readonly onLeftOut?: ((resource: string, namespace: string) => void) | undefined;
  /** In milliseconds. */
  readonly now?: (() => number) | undefined;
}

/** The memory that this budget itself needs for each object. */
const bytesOfEntry: Bytes = 200;

/** The most keys of left out objects that are remembered, as hashes, to count them. */
const mostLeftOut = 8192;

/** How long an answer that was left out is counted, in milliseconds, because it may never be asked for again. */
const answersLeftOutFor = 600_000;

export function createMemoryBudget(options: MemoryBudgetOptions): MemoryBudget {
  const { total, isPreferred, onLeftOut, now = () => 0 } = options;
  const shares = createMemoryShares(isPreferred, total / 2);
  const accounts = new Set<MemoryAccount>();

  return {
    total,
    accounts,
    get bytes(): Bytes {
      return shares.bytes;
    },
    open(opened) {
      const ledger: Ledger = { ...opened, entries: new Map(), leftOut: new Set(), latestLeftOut: 0, bytes: 0 };
      const account: MemoryAccount = {
        resource: opened.resource,
        get bytes(): Bytes {
          return ledger.bytes;
        },
        get leftOut(): number {
          const { rank, leftOut, latestLeftOut } = ledger;
          if (rank === ranks.answers && now() - latestLeftOut >= answersLeftOutFor) leftOut.clear();
          return leftOut.size;
        },
        has: (key) => ledger.entries.has(key),
        keys: () => ledger.entries.keys(),
        set: (key, namespace, bytes) => set(ledger, key, namespace, bytes + bytesOfEntry),
        leaveOut: (key) => countLeftOut(ledger, key),
        delete(key) {
          settle(ledger, key);
          const entry = ledger.entries.get(key);
          if (entry !== undefined) shares.remove(entry);
        },
        forgetLeftOut: () => ledger.leftOut.clear(),
        close() {
          for (const entry of ledger.entries.values()) shares.remove(entry);
          accounts.delete(account);
        },
      };
      accounts.add(account);
      return account;
    },
  };

  function set(account: Ledger, key: string, namespace: string, bytes: Bytes): boolean {
    const known = account.entries.get(key);
    if (known !== undefined) shares.remove(known);
    const entry = shares.add(account, key, namespace, bytes);
    while (shares.bytes > total) leave(shares.nextToLeave(entry));
    const isKept = account.entries.get(key) === entry;
    if (isKept) settle(account, key);
    return isKept;
  }

  function leave(entry: ShareEntry): void {
    const { account, key, group } = entry;
    shares.remove(entry);
    account.leaveOut(key);
    // An object that is removed from its store counts as deleted, so it is counted after that.
    countLeftOut(account, key);
    onLeftOut?.(account.resource, group.namespace);
  }

  function countLeftOut(ledger: Ledger, key: string): void {
    ledger.latestLeftOut = now();
    if (ledger.leftOut.size < mostLeftOut) ledger.leftOut.add(hashOf(key));
  }
}

/** If more objects were left out than are remembered, some count as left out until all are listed again. */
function settle({ leftOut }: Ledger, key: string): void {
  if (leftOut.size > 0 && leftOut.size < mostLeftOut) leftOut.delete(hashOf(key));
}

/** The room of one reading that is not stored yet. */
export interface MemoryLease {
  /** Returns false once there is no room: the reading must be discarded. */
  take: (bytes: Bytes) => boolean;
  /** `isWhole`: no part was left out. */
  release: (isWhole: boolean) => void;
}

/** `what`: a kind of object, which is read once at a time in a Namespace. */
export type MemoryLeases = (namespace: string, what: string) => MemoryLease;

export function createMemoryLeases(memory: MemoryBudget, resource: string): MemoryLeases {
  const lost = new Set<string>();
  const account = memory.open({ resource, rank: ranks.answers, leaveOut: (key) => lost.add(key) });
  return (namespace, what) => {
    const key = `${namespace}/${what}`;
    let size: Bytes = 0;
    return {
      take(bytes) {
        size += bytes;
        return !lost.has(key) && account.set(key, namespace, size);
      },
      release(isWhole) {
        account.delete(key);
        lost.delete(key);
        if (!isWhole) account.leaveOut(key);
      },
    };
  };
}

/** The budget of a process whose memory has no limit. */
const withoutLimit: Bytes = 256 * 1024 * 1024;

/** Returns this part of the container's limit. */
export function memoryOfContainer(part: number): Bytes {
  const limit = process.constrainedMemory();
  return limit > 0 && limit < totalmem() ? limit * part : withoutLimit;
}

/** A budget without a limit, for lists that are read whole. */
export function unlimitedMemory(): MemoryBudget {
  return createMemoryBudget({ total: Infinity, isPreferred: () => false });
}
