import { createHash } from 'node:crypto';
import { hrtime } from 'node:process';
import type { Millis } from '../model/log-line.ts';
import { writeState } from './state-file.ts';

export interface CheckpointerOptions {
  file: string;
  /** All that has to survive, as plain JSON; taken in one step between two lines. */
  snapshot: () => unknown;
  /** A number that is another one after every change that may be published. */
  revision: () => number;
  onSaved: (bytes: number) => void;
  onFailed: (error: unknown) => void;
  write?: (file: string, body: string) => Promise<void>;
  /** How long a write may take; after that it has failed, as on a full disk. */
  timeout?: Millis;
}

/** Writes the state to disk. */
export interface Checkpointer {
  /**
   * Resolves when everything counted before the call is on disk, or could not be written in time. Calls while a write is under
   * way share the next one. Never rejects.
   */
  keep: () => Promise<void>;
  /** The same, also when nothing was counted: for read positions. */
  keepPositions: () => Promise<void>;
}

const unanswered = 'the disk does not answer';

/** Of the time, at most a twentieth goes into making snapshots, however large they are. */
const share = 20;

export function createCheckpointer(options: CheckpointerOptions): Checkpointer {
  const { file, snapshot, revision, onSaved, onFailed, write = writeState, timeout = 10_000 } = options;
  /** Revision that is on disk. */
  let kept: number | undefined;
  /** Digest of what is on disk: a node where nothing happens does not write. */
  let written: string | undefined;
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  let rest: Millis = 0;
  /**
   * A write that was not answered in time. It cannot be ended, holds one of the four threads that all file access shares, and
   * puts its state in place whenever the disk answers: so no other begins before it ends.
   */
  let hanging = false;

  return {
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
    if (hanging) return onFailed(new Error(unanswered));
    if (rest > 0) await new Promise((resolve) => setTimeout(resolve, rest));
    const began = hrtime.bigint();
    const taken = revision();
    try {
      const body = JSON.stringify(snapshot());
      const took = Number(hrtime.bigint() - began) / 1e6;
      rest = took > 5 ? took * (share - 1) : 0;
      const digest = createHash('sha256').update(body).digest('hex');
      if (digest !== written) await inTime(write(file, body));
      written = digest;
      kept = taken;
      onSaved(body.length);
    } catch (error) {
      onFailed(error);
    }
  }

  /** Rejects when the write fails, or has not ended in time; once such a write has ended, the newest state is written over it. */
  async function inTime(writing: Promise<void>): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      hanging = true;
      written = undefined;
      reject(new Error(unanswered));
    }, timeout);
    const ended = writing.finally(() => {
      clearTimeout(timer);
      if (!hanging) return;
      hanging = false;
      void save();
    });
    ended.then(resolve, reject);
    await promise;
  }
}
