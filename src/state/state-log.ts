import type { Millis } from '../model/log-line.ts';
import { type BatchWriterOptions, createBatchWriter } from './batch-writer.ts';

export interface StateReport {
  /** `bytes`: of all that is kept. */
  saved: (bytes: number) => void;
  failed: (error: unknown) => void;
  /** The files are gone, for the reason given; all of the state is written again. */
  lost: (reason: string) => void;
}

export interface StateLogOptions extends Omit<BatchWriterOptions, 'lost'> {
  report: StateReport;
  /** A slower write counts as failed, as on a full disk. */
  timeout?: Millis;
}

const noAnswer = 'the disk does not answer';

/** A log of changes. Each batch has a slice of the rest, so older segments can go. */
export function createStateLog(options: StateLogOptions) {
  const { timeout = 10_000 } = options;
  const { report } = options;
  const writer = createBatchWriter({ ...options, lost: report.lost });
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  /** An unanswered batch holds one of the four threads for file access, so no other begins before it ends. */
  let hanging = false;
  let kept: number | undefined;

  return {
    /** Resolves when all changes before the call are on disk, or were too late. Calls share a write. Never rejects. */
    keep: (): Promise<void> =>
      kept === options.state.revision() && running === undefined ? Promise.resolve() : save(),
    /** The same, also when nothing was counted: for read positions. */
    keepPositions: save,
  };

  function save(): Promise<void> {
    if (running === undefined) return begin();
    // The batch under way does not have the latest changes.
    return (next ??= running.then(begin));
  }

  function begin(): Promise<void> {
    next = undefined;
    return (running = run());
  }

  async function run(): Promise<void> {
    if (hanging) report.failed(new Error(noAnswer));
    else await writeInTime();
    if (next === undefined) running = undefined;
  }

  async function writeInTime(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      hanging = true;
      report.failed(new Error(noAnswer));
      resolve();
    }, timeout);
    void writeOnce().finally(() => {
      clearTimeout(timer);
      hanging = false;
      resolve();
    });
    await promise;
  }

  async function writeOnce(): Promise<void> {
    try {
      kept = await writer.write();
      report.saved(writer.size());
    } catch (error) {
      report.failed(error);
    }
  }
}
