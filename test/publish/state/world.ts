import type { Finding } from '../../../src/base/model/finding.ts';
import type { Series, SeriesState } from '../../../src/base/model/series.ts';
import type { CoreEvent } from '../../../src/publish/events/event.ts';
import { createEventWriter, type EventStore, stateAnnotation } from '../../../src/publish/events/event-writer.ts';
import { createSeriesTable, type SeriesLimits, type SeriesTable } from '../../../src/count/series/series.ts';
import { windowOf } from '../../../src/count/series/times.ts';
import { type Clock, createSteadyClock } from '../../../src/base/platform/clock.ts';
import type { StateChange } from '../../../src/base/platform/keyed-changes.ts';
import { clampTimes } from '../../../src/publish/state/state.ts';
import { applyChange } from '../../../src/publish/state/read-segments.ts';
import { beginAll } from '../../count/series/writing.ts';
import { seriesStateIn } from '../../count/series/state-of.ts';
import { finding, flow, nine, podRef } from '../../builders.ts';
import { createMemoryStore, keyOf, type MemoryStore, type Mishap, refusal } from '../events/memory-store.ts';

const second = 1000;
const firstId = 'state-0';

/** The fate of a request to the API server, or of saving the state before it. */
export type Fate =
  | 'fine'
  | 'answer lost'
  | 'refused'
  | 'changed before'
  | 'deleted before'
  | 'packet during'
  | 'killed before'
  | 'killed after';

export interface Packet {
  object: string;
  port: number;
}

/** A log, an agent that reads it and can be killed at any moment, and an API server. */
export interface World {
  store: MemoryStore;
  /** Events that were deleted, with their content at that time. */
  deleted: CoreEvent[];
  /** Faults that must never happen. */
  faults: string[];
  /** Logs a packet. */
  log: (packet: Packet) => void;
  pass: (time: number) => void;
  /** Steps the wall clock. */
  step: (offset: number) => void;
  /** The agent counts up to `lines` lines that it has not read yet. */
  read: (lines: number) => void;
  /** The agent keeps its state. */
  keep: () => Promise<void>;
  /** The agent writes due series. */
  write: () => Promise<void>;
  /** The agent is killed, and started again. */
  kill: () => void;
  /** The agent is killed and its state is lost. A new one begins to read before the last `again` lines. */
  lose: (again: number) => void;
  /** Sets the fates of the next requests. */
  befall: (fates: readonly Fate[]) => void;
  /** A user deletes an Event. */
  deleteOne: (index: number) => void;
  /** From now on all goes well: the agent reads and writes everything. */
  settle: () => Promise<void>;
  /** The packets that were logged about an object. */
  logged: (object: string) => number;
  /** Sum of the counts of an object's Events. */
  published: (object: string, events?: Iterable<CoreEvent>) => number;
  /** The lines that an Event stands for: those that any agent has counted for it. */
  linesBehind: (event: CoreEvent) => number;
}

export function createWorld(
  fates: readonly Fate[],
  limits: SeriesLimits = { perObject: 8, perPeer: 8, total: 1000 },
): World {
  const store = createMemoryStore((_, key) => mishapOf(nextFate(), key));
  const log: (Packet & { stamp: number })[] = [];
  const deleted: CoreEvent[] = [];
  const faults: string[] = [];
  const behind = new Map<string, Set<number>>();
  const queue = [...fates];
  /** The running agent's steady clock. */
  let time = nine;
  /** How far the wall clock has been set forward since that agent began. */
  let stepped = 0;
  let stateId = firstId;
  /** The saved values, as JSON by key: the agent shares none of them. */
  let disk = { position: 0, values: new Map<string, unknown>(), rest: undefined as string | undefined };
  let table: SeriesTable;
  /** The first changes of a table contain all of it. */
  let isKept: boolean;
  let position: number;
  let clock: Clock;
  let latest: number;
  start();

  const world: World = {
    store,
    deleted,
    faults,
    log: (packet) => void log.push({ ...packet, stamp: time + stepped }),
    pass: (duration) => void (time += duration),
    step: (offset) => void (stepped += offset),
    read(lines) {
      for (const { stamp, ...packet } of log.slice(position, position + lines)) {
        const at = Math.min(clock.fromWall(stamp), time);
        table.count(findingOf(packet), at);
        latest = Math.max(latest, at);
        remember(packet, position++);
      }
    },
    keep: () => untilKilled(keep),
    write: () => untilKilled(write),
    kill: start,
    lose(again) {
      stateId = `state-${Number(stateId.slice(6)) + 1}`;
      disk = { position: Math.max(0, log.length - again), values: new Map(), rest: undefined };
      start();
    },
    befall: (more) => void queue.push(...more),
    deleteOne(index) {
      const keys = [...store.events.keys()];
      remove(keys[index % keys.length] ?? '');
    },
    async settle() {
      queue.length = 0;
      world.read(Infinity);
      for (let due = table.nextDue(); due < Infinity; due = table.nextDue()) {
        time = Math.max(time, due);
        await world.write();
      }
    },
    logged: (object) => log.filter((packet) => packet.object === object).length,
    published: (object, events = store.events.values()) =>
      [...events].reduce((sum, { involvedObject, count }) => sum + (involvedObject.name === object ? count : 0), 0),
    linesBehind: ({ message }) => behind.get(message)?.size ?? 0,
  };
  return world;

  function start(): void {
    time += stepped;
    stepped = 0;
    clock = createSteadyClock(
      () => time,
      () => time + stepped,
    );
    const restored = keptState();
    clampTimes(restored, time);
    table = createSeriesTable({ limits, restored, now: () => time });
    isKept = false;
    latest = restored?.clock ?? -Infinity;
    position = disk.position;
  }

  async function untilKilled(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
      start();
    }
  }

  async function keep(): Promise<void> {
    const changes = JSON.stringify(table.takeChanges());
    const values = isKept ? disk.values : new Map<string, unknown>();
    isKept = true;
    const kept = { position, rest: JSON.stringify(table.totals()) };
    const { before, after } = mishapOf(nextFate(), '');
    await Promise.resolve();
    before?.();
    for (const change of JSON.parse(changes) as StateChange[]) applyChange(change, values);
    disk = { ...disk, values, ...kept };
    after?.();
  }

  function keptState(): SeriesState | undefined {
    if (disk.rest === undefined) return undefined;
    return seriesStateIn(disk.values, JSON.parse(disk.rest) as ReturnType<SeriesTable['totals']>);
  }

  async function write(): Promise<void> {
    const guarded = { ...store, create: guard(store.create), update: guard(store.update) };
    const writeOne = createEventWriter({
      store: guarded,
      messageOf: nameOf,
      stateId,
      now: clock.now,
      toWall: clock.toWall,
    });
    const batch = beginAll(table, time).map((series) => ({ series, copy: structuredClone(series) }));
    if (batch.length > 0) await keep();
    for (const { series, copy } of batch) {
      const outcome = await writeOne(copy);
      if (outcome.kind === 'written') table.end(series, { kind: 'published', published: outcome.published });
      else table.end(series, { kind: 'refused', until: time + second });
    }
  }

  /** Checks that nothing is published that is not on disk, and that no count decreases. */
  function guard<Rest extends unknown[]>(
    request: (event: CoreEvent, ...rest: Rest) => ReturnType<EventStore['create']>,
  ): typeof request {
    return async (event, ...rest) => {
      const base = Number(event.metadata.annotations?.[stateAnnotation]?.split(' ')[1]);
      const kept = keptCount(event.message);
      if (event.count - base > kept)
        faults.push(`${event.count} ${base} were published of ${event.message}, ${kept} kept`);
      if (event.count < 1) faults.push(`${event.message} published without packets`);
      const before = store.events.get(keyOf(event))?.count ?? 0;
      const answer = await request(event, ...rest);
      const after = store.events.get(keyOf(event))?.count ?? Infinity;
      if (after < before) faults.push(`${event.message} fell from ${before} to ${after}`);
      return answer;
    };
  }

  /** If the clock was stepped while the agent was down, two series may have the same name. */
  function keptCount(name: string): number {
    const { series = [], past = [] } = keptState() ?? {};
    const counts = [...series, ...past].filter((each) => nameOf(each) === name).map(({ count }) => count);
    return Math.max(0, ...counts);
  }

  function nextFate(): Fate {
    return queue.shift() ?? 'fine';
  }

  function mishapOf(fate: Fate, key: string): Mishap {
    switch (fate) {
      case 'fine':
        return {};
      case 'answer lost':
        return { answer: refusal(0) };
      case 'refused':
        return { instead: refusal(503) };
      case 'changed before':
        return { before: () => store.touch(key) };
      case 'deleted before':
        return { before: () => remove(key) };
      case 'packet during':
        return {
          before() {
            world.log({ object: 'web-0', port: 1 });
            world.read(1);
          },
        };
      case 'killed before':
        return { before: die };
      case 'killed after':
        return { after: die };
      default:
        return fate satisfies never;
    }
  }

  function remove(key: string): void {
    const event = store.remove(key);
    if (event) deleted.push(event);
  }

  function remember(packet: Packet, index: number): void {
    const each = findingOf(packet);
    const name = nameOf({ finding: each, window: windowOf(latest, each.regarding.uid).number });
    const lines = behind.get(name) ?? new Set();
    behind.set(name, lines.add(index));
  }
}

class Killed extends Error {}

function die(): never {
  throw new Killed();
}

function findingOf({ object, port }: Packet): Finding {
  return finding({ identity: `${object} ${port}`, regarding: podRef(object), details: flow({ port }) });
}

/** The name is also in the Event's message, where it says which series the Event is about. */
function nameOf({ finding: { identity }, window }: Pick<Series, 'finding' | 'window'>): string {
  return `${identity} ${window}`;
}
