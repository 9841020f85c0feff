import { createHash } from 'node:crypto';
import { hrtime } from 'node:process';
import type { Millis } from '../model.ts';
import { writeState } from './state-file.ts';

export interface KeeperOptions {
  file: string;
  /** All that has to survive, as plain JSON; taken in one step between two lines. */
  snapshot: () => unknown;
  /** A number that is another one after every change that a write to the API server may tell of. */
  revision: () => number;
  onSaved: (bytes: number) => void;
  onFailed: (error: unknown) => void;
  write?: (file: string, body: string) => Promise<void>;
}

/** Keeps the state on disk. */
export interface Keeper {
  /**
   * Resolves when everything counted before the call is on disk, or could not be written. Calls while a write is under way
   * share the next one. Never rejects.
   */
  keep: () => Promise<void>;
  /** The same, also when nothing was counted: for read positions. */
  keepPositions: () => Promise<void>;
  /** The last write failed: what is told now may be told again after a crash. */
  readonly failing: boolean;
}

/** Of the time, at most a twentieth goes into making snapshots, however large they are. */
const share = 20;

export function createKeeper(options: KeeperOptions): Keeper {
  const { file, snapshot, revision, onSaved, onFailed, write = writeState } = options;
  /** Revision that is on disk. */
  let kept: number | undefined;
  /** Digest of what is on disk: a node where nothing happens does not write. */
  let written: string | undefined;
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  let failing = false;
  let rest: Millis = 0;

  return {
    get failing() {
      return failing;
    },
    keep: () => (kept === revision() && running === undefined ? Promise.resolve() : save()),
    keepPositions: save,
  };

  function save(): Promise<void> {
    if (running === undefined) return begin();
    // The one under way was taken before this call.
    return (next ??= running.then(begin));
  }

  function begin(): Promise<void> {
    next = undefined;
    return (running = runOnce());
  }

  async function runOnce(): Promise<void> {
    await saveNow();
    // Else it is the next one that runs.
    if (next === undefined) running = undefined;
  }

  async function saveNow(): Promise<void> {
    if (rest > 0) await new Promise((resolve) => setTimeout(resolve, rest));
    const began = hrtime.bigint();
    const taken = revision();
    try {
      const body = JSON.stringify(snapshot());
      const took = Number(hrtime.bigint() - began) / 1e6;
      rest = took > 5 ? took * (share - 1) : 0;
      const digest = createHash('sha256').update(body).digest('hex');
      if (digest !== written) await write(file, body);
      written = digest;
      kept = taken;
      failing = false;
      onSaved(body.length);
    } catch (error) {
      failing = true;
      onFailed(error);
    }
  }
}
