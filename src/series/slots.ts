import type { Finding } from '../model/finding.ts';
import type { Millis } from '../model/log-line.ts';
import { objectKey } from '../model/endpoint.ts';
import type { ObjectSlots, Series, SeriesState } from '../model/series.ts';
import { createKeyedChanges } from '../platform/keyed-changes.ts';
import { windowOf } from './window.ts';

export interface SlotLimits {
  /** Events of one object in one window; what is past that is counted in one more. */
  perObject: number;
  /** Of those, Events about one peer: a port scan must not hide what else an object has. By default 3. */
  perPeer?: number;
}

/** How many Events each object has in its window, and how many of them are about one peer. */
export function createSlots({ perObject, perPeer = 3 }: SlotLimits, restored: SeriesState['objects'] = []) {
  const objects = new Map<string, ObjectSlots>(restored);
  const changes = createKeyedChanges('object', objects);

  return {
    /** Whether the object of a finding has a place for one more Event at `clock`. Incidents always have one. */
    hasRoom({ regarding, details }: Finding, clock: Millis): boolean {
      const object = objectKey(regarding);
      const known = objects.get(object);
      if (details.kind === 'incident' || known?.window !== windowOf(clock, object).number) return true;
      if (known.distinct >= perObject) return false;
      return details.kind !== 'flow' || (known.peers?.[details.peer.identity] ?? 0) < perPeer;
    },
    take({ regarding, details }: Finding, clock: Millis): void {
      const object = objectKey(regarding);
      const { number: window } = windowOf(clock, object);
      let slots = objects.get(object);
      if (slots?.window !== window) objects.set(object, (slots = { window, distinct: 0, peers: {} }));
      slots.distinct++;
      if (details.kind === 'flow') {
        const { identity } = details.peer;
        slots.peers = { ...slots.peers, [identity]: (slots.peers?.[identity] ?? 0) + 1 };
      }
      changes.changed(object);
    },
    /** The series is counted in another one. */
    giveBack({ window, finding: { regarding, details } }: Series): void {
      const object = objectKey(regarding);
      const slots = objects.get(object);
      if (details.kind !== 'flow' || slots?.window !== window) return;
      slots.distinct--;
      const { identity } = details.peer;
      slots.peers = { ...slots.peers, [identity]: (slots.peers?.[identity] ?? 1) - 1 };
      changes.changed(object);
    },
    /** Forgets objects whose window is over at `clock`. */
    sweep(clock: Millis): void {
      for (const [object, { window }] of objects) {
        if (window === windowOf(clock, object).number) continue;
        objects.delete(object);
        changes.changed(object);
      }
    },
    takeChanges: changes.take,
    entries: changes.entries,
  };
}
