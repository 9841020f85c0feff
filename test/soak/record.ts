import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { Loss, Notice, Position } from '../../src/read/sources/source.ts';
import { readNumbered } from './line.ts';
import { addTo, lengthOf, type Run } from './distinct-values.ts';

/** Everything that a reader knows, in one file: position and counts are lost together, and restored together. */
export interface Snapshot {
  /** null if there is none. */
  position: Position | null;
  /** The lines that were handed over. */
  runs: Run[];
  /** How many lines were not handed over whole. */
  broken: number;
  firstBroken: string[];
  reported: Reported;
}

export interface Reported {
  /** The number of losses by reason; numbers in a reason are written as `N`. */
  losses: Record<string, number>;
  lostBytes: number;
  /** Losses of unknown size. */
  unmeasured: number;
  notices: Record<string, number>;
}

/** A reader prints this as JSON after each snapshot with news. */
export interface Progress {
  state: string;
  /** The number of lines so far. */
  lines: number;
}

const shown = 5;

/** Continues from the snapshot in `file`, if there is one. */
export function createRecorder(file: string) {
  const snapshot: Snapshot = readSnapshot(file) ?? {
    position: null,
    runs: [],
    broken: 0,
    firstBroken: [],
    reported: { losses: {}, lostBytes: 0, unmeasured: 0, notices: {} },
  };
  const { reported, firstBroken } = snapshot;
  let written: string | undefined;

  return {
    position: snapshot.position ?? undefined,
    listener: {
      take({ text }: { text: string }): void {
        const line = readNumbered(text);
        if (line !== undefined) return addTo(snapshot.runs, line.number);
        snapshot.broken++;
        if (firstBroken.length < shown) firstBroken.push(text.slice(0, 300));
      },
      lost({ count, unit, reason }: Loss): void {
        note(reported.losses, reason);
        if (count === undefined || unit !== 'bytes') reported.unmeasured++;
        else reported.lostBytes += count;
      },
      notice: ({ level, text }: Notice) => note(reported.notices, `${level}: ${text}`),
    },
    /** Writes the snapshot in one step, and prints the progress if there is any. */
    save(this: void, position: Position | undefined, state: string): void {
      snapshot.position = position ?? null;
      const body = JSON.stringify(snapshot);
      if (body === written) return;
      writeFileSync(`${file}.next`, body);
      renameSync(`${file}.next`, file);
      written = body;
      const progress: Progress = { state, lines: lengthOf(snapshot.runs) };
      process.stdout.write(`${JSON.stringify(progress)}\n`);
    },
  };
}

/** Undefined if there is no snapshot. */
export function readSnapshot(file: string): Snapshot | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Snapshot;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function note(times: Record<string, number>, text: string): void {
  const kind = text.replaceAll(/\/\S*\//g, '').replaceAll(/\d+/g, 'N');
  times[kind] = (times[kind] ?? 0) + 1;
}
