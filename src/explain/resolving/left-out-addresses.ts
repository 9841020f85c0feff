/** Remembers addresses of objects for which memory has no room, so that only these may have an unknown owner, unless Services are not watched. */
import { randomInt } from 'node:crypto';
import { hashOf } from '../../base/platform/hash.ts';

export interface LeftOutAddresses {
  add: (addresses: readonly string[]) => void;
  /** Whether a left-out object may have the address. Also true for a few other addresses: 1 in 1,000 once 50,000 objects are left out. */
  mayHave: (address: string) => boolean;
  /** Call it before addresses are looked up if there are too many Services to watch: while `areMissing`, any address may be a Service's. */
  missServices: (areMissing: () => boolean) => void;
  /** Returns why an unknown object may have the address; undefined if none may. */
  whyUnknown: (address: string) => string | undefined;
}

/** 128 KiB, allocated for the first address. */
const bits = 2 ** 20;

const places = 4;

/** A Bloom filter. `isAny`: whether any object is left out; once none is, all addresses are forgotten. */
export function createLeftOutAddresses(isAny: () => boolean): LeftOutAddresses {
  // Anybody who knows the seed could choose addresses with the same hash as others'.
  const seed = randomInt(2 ** 32);
  let filter: Uint8Array | undefined;
  let areServicesMissing: (() => boolean) | undefined;

  return {
    add(addresses) {
      if (addresses.length === 0) return;
      if (!isAny()) filter = undefined;
      filter ??= new Uint8Array(bits / 8);
      for (const address of addresses)
        for (const place of placesOf(address)) filter[place >>> 3] = (filter[place >>> 3] ?? 0) | (1 << (place & 7));
    },
    mayHave,
    missServices: (areMissing) => void (areServicesMissing = areMissing),
    whyUnknown(address) {
      if (mayHave(address)) return 'perhaps of a Pod or Service that memory has no room for';
      return areServicesMissing?.() === true ? 'perhaps of a Service: there are too many to watch' : undefined;
    },
  };

  function mayHave(address: string): boolean {
    if (filter === undefined) return false;
    if (!isAny()) filter = undefined;
    return placesOf(address).every((place) => ((filter?.[place >>> 3] ?? 0) & (1 << (place & 7))) !== 0);
  }

  function placesOf(address: string): number[] {
    const first = hashOf(address, seed);
    const step = hashOf(address, first) | 1;
    return Array.from({ length: places }, (_, index) => (first + index * step) & (bits - 1));
  }
}
