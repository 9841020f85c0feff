/** Shares a budget among keys, such as Namespaces, so that one key always leaves some to others. The caller gives the time, which may be virtual. */
import type { Millis } from '../model/log-line.ts';

interface ShareUse {
  /** The tokens that the key has taken and that have not come back yet. */
  own: number;
  /** The part of it that others cannot take. */
  counted: number;
}

/** Sums and differences of fractions are not exact. */
const nearly = 1e-9;

/** Taken tokens come back at `rate` (a millisecond), in equal parts to all keys that have taken some. */
function createShares({ rate, burst }: { rate: number; burst: number }) {
  const taken = new Map<string, ShareUse>();
  let filled: Millis | undefined;
  return { standing, add };

  /** `owed`: tokens that the key has taken beyond the counted ones; `beyond`: the same for all keys. */
  function standing(key: string, now: Millis): { own: number; owed: number; left: number; beyond: number } {
    giveBack(now);
    let [left, beyond] = [burst, 0];
    for (const each of taken.values()) {
      left -= each.counted;
      beyond += each.own - each.counted;
    }
    const { own, counted } = taken.get(key) ?? { own: 0, counted: 0 };
    return { own, owed: own - counted, left, beyond };
  }

  function add(key: string, weight: number, counted: number): void {
    if (weight <= 0) return;
    const known = taken.get(key) ?? { own: 0, counted: 0 };
    taken.set(key, { own: known.own + weight, counted: known.counted + counted });
  }

  /** An earlier time gives nothing back, because lines of a log may be out of order. */
  function giveBack(now: Millis): void {
    filled ??= now;
    if (now <= filled) return;
    let rest = (now - filled) * rate;
    filled = now;
    while (rest > nearly && taken.size > 0) {
      const least = Math.min(...[...taken.values()].map(({ own }) => own));
      const each = Math.min(least, rest / taken.size);
      rest -= each * taken.size;
      for (const [key, { own, counted }] of taken) {
        if (own - each <= nearly) taken.delete(key);
        else taken.set(key, { own: own - each, counted: Math.max(0, counted - each) });
      }
    }
  }
}

export interface SharedBucket {
  /** Takes a token for the key; returns false if it may have none now. */
  readonly take: (key: string, now: Millis) => boolean;
}

export interface SharedBudget {
  /** Actions in a second on average. */
  readonly rate: number;
  readonly burst: number;
  /** Actions that a key may take at once even if others have taken all, because half of a half of a half is soon nothing. Default: none. */
  readonly each?: number;
}

/** The most keys with actions beyond the budget, to limit the whole. */
const mostBeyond = 16;

/**
 * A token bucket of all keys together: `burst` actions at once, and `rate` a second. One key takes half of the tokens, the next one half of
 * the rest, and so on, so that a later key finds some. A single key gets the whole rate. Tokens that a key takes of its own part beyond the
 * budget come back like the others.
 */
export function createSharedBucket({ rate, burst, each = 0 }: SharedBudget): SharedBucket {
  const shares = createShares({ rate: rate / 1000, burst });
  /** Keys that found no token, and since when. The next tokens are theirs if they ask again, which matters if the bucket holds only one. */
  const waiting = new Map<string, Millis>();
  const patience: Millis = 2000 / rate;

  return {
    take(key, now) {
      const { own, left, beyond } = shares.standing(key, now);
      const isHalf = own === 0 || left >= own + 2 - nearly;
      const isThere = left - waitingBefore(key, now) >= 1 - nearly;
      const isOwn = own + 1 <= each + nearly && beyond + 1 <= each * mostBeyond + nearly;
      if (!(isHalf && isThere) && !isOwn) {
        if (isHalf && !waiting.has(key)) waiting.set(key, now);
        return false;
      }
      waiting.delete(key);
      shares.add(key, 1, isHalf && isThere ? 1 : 0);
      return true;
    },
  };

  function waitingBefore(key: string, now: Millis): number {
    let count = 0;
    for (const [other, since] of waiting) {
      if (other === key) break;
      if (now - since > patience) waiting.delete(other);
      else count++;
    }
    return count;
  }
}

export interface TimeShare {
  readonly mayBegin: (key: string, now: Millis) => boolean;
  readonly ended: (key: string, began: Millis, now: Millis) => void;
}

/**
 * Lets the work of all keys take the share `part` of the time (0 to 1), and `atOnce` more after a rest. One key takes half of it, as in
 * `createSharedBucket`. The last piece of its work may exceed that, which counts against this key alone.
 */
export function createTimeShare({ part, atOnce }: { part: number; atOnce: Millis }): TimeShare {
  const shares = createShares({ rate: part, burst: atOnce });
  return {
    mayBegin(key, now) {
      const { own, owed, left } = shares.standing(key, now);
      // The part that comes back also raises `left`, so otherwise only half of a piece that was too long would be paid.
      return own + owed < left;
    },
    ended(key, began, now) {
      // As of the beginning, so that the time of the work comes back like any other.
      const { own, left } = shares.standing(key, began);
      const took = now - began;
      shares.add(key, took, Math.max(0, Math.min(took, (left - own) / 2)));
    },
  };
}
