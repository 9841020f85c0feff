/** The share of each Namespace in a memory budget, and the order in which it loses objects. */
import type { Bytes } from './weight.ts';

/** Within a Namespace, objects that explain are left out before objects that name, and objects that can be read again before others. */
export const ranks = { names: 0, pods: 1, services: 2, answers: 3, slices: 4, tombstones: 5 } as const;

export interface MemoryAccountOptions {
  /** A kind of object, such as `services`. Several accounts may have the same. */
  readonly resource: string;
  /** Within a Namespace, objects of a higher rank are left out first. */
  readonly rank: (typeof ranks)[keyof typeof ranks];
  /** Removes the object from where it is kept. The account has already forgotten it. */
  readonly leaveOut: (key: string) => void;
}

export interface ShareEntry {
  readonly key: string;
  readonly account: Ledger;
  readonly group: Group;
  readonly bytes: Bytes;
}

export interface Ledger extends MemoryAccountOptions {
  readonly entries: Map<string, ShareEntry>;
  /** Hashes of keys. */
  readonly leftOut: Set<number>;
  /** When the latest one was left out. */
  latestLeftOut: number;
  bytes: Bytes;
}

/** The entries of one Namespace. */
interface Group {
  readonly namespace: string;
  readonly isPreferred: boolean;
  /** The objects by rank and size class. Sorting them would take too long each time. */
  readonly shelves: Map<number, Set<ShareEntry>>;
  bytes: Bytes;
}

export interface MemoryShares {
  readonly bytes: Bytes;
  add: (account: Ledger, key: string, namespace: string, bytes: Bytes) => ShareEntry;
  remove: (entry: ShareEntry) => void;
  /** Finds the entry that the heaviest Namespace loses. `latest`: the entry that came last. */
  nextToLeave: (latest: ShareEntry) => ShareEntry;
}

/** `most`: the weight up to which a Namespace is preferred. */
export function createMemoryShares(isPreferred: (namespace: string) => boolean, most: Bytes): MemoryShares {
  const groups = new Map<string, Group>();
  let total: Bytes = 0;

  return {
    get bytes(): Bytes {
      return total;
    },
    add(account, key, namespace, bytes) {
      const group = groups.get(namespace) ?? newGroup(namespace, isPreferred(namespace));
      groups.set(namespace, group);
      const entry = { key, account, group, bytes };
      account.entries.set(key, entry);
      const shelf = group.shelves.get(shelfOf(entry));
      if (shelf === undefined) group.shelves.set(shelfOf(entry), new Set([entry]));
      else shelf.add(entry);
      count(entry, bytes);
      return entry;
    },
    remove(entry) {
      const { account, group, key, bytes } = entry;
      account.entries.delete(key);
      const shelf = group.shelves.get(shelfOf(entry));
      shelf?.delete(entry);
      if (shelf?.size === 0) group.shelves.delete(shelfOf(entry));
      count(entry, -bytes);
      if (group.shelves.size === 0) groups.delete(group.namespace);
    },
    /**
     * Prefers the latest watched object if there is none of a higher rank, because the next list would bring back any other. Older answers
     * leave first, because the latest is needed now.
     */
    nextToLeave(latest) {
      const group = heaviest();
      let top = -1;
      for (const shelf of group.shelves.keys()) top = Math.max(top, shelf);
      const { rank, entries } = latest.account;
      const isOfGroup = latest.group === group && entries.get(latest.key) === latest;
      if (isOfGroup && rank !== ranks.answers && rank >= rankOf(top)) return latest;
      const [first, second] = group.shelves.get(top) ?? [];
      return (first === latest ? (second ?? first) : first) as ShareEntry;
    },
  };

  function count({ account, group }: ShareEntry, more: Bytes): void {
    account.bytes += more;
    group.bytes += more;
    total += more;
  }

  function heaviest(): Group {
    let found: Group | undefined;
    for (const group of groups.values()) if (found === undefined || weightIn(group) > weightIn(found)) found = group;
    return found as Group;
  }

  function weightIn({ isPreferred: stays, bytes }: Group): number {
    return stays && bytes <= most ? -1 / bytes : bytes;
  }
}

function newGroup(namespace: string, isPreferred: boolean): Group {
  return { namespace, isPreferred, shelves: new Map(), bytes: 0 };
}

const shelvesOfRank = 64;

function shelfOf({ account, bytes }: ShareEntry): number {
  return account.rank * shelvesOfRank + Math.floor(Math.log2(bytes));
}

function rankOf(shelf: number): number {
  return Math.floor(shelf / shelvesOfRank);
}
