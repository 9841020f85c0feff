import type { Millis } from '../../base/model/log-line.ts';
import { type BatchWriterOptions, createBatchWriter } from './batch-writer.ts';

export interface StateReport {
  /** `bytes`: the size of everything on disk. */
  saved: (bytes: number) => void;
  failed: (error: unknown) => void;
  /** The reason why the files are gone or changed. The whole state is written again. */
  lost: (reason: string) => void;
}

export interface StateLogOptions extends Omit<BatchWriterOptions, 'lost'> {
  report: StateReport;
  /** A write that takes longer counts as failed, like one on a full disk. */
  timeout?: Millis;
}

const noAnswer = 'the disk does not answer';

export interface StateLog {
  /** Resolves when all changes before the call are on disk, or have failed. Simultaneous calls share a write. Never rejects. */
  keep: () => Promise<void>;
  /** Does the same, and also writes if only read positions have changed. */
  keepPositions: () => Promise<void>;
}

export function createStateLog(options: StateLogOptions): StateLog {
  const { timeout = 10_000 } = options;
  const { report } = options;
  const writer = createBatchWriter({ ...options, lost: report.lost });
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  /** A batch without an answer blocks one of four threads for file access, so no other batch begins before it ends. */
  let hanging = false;
  let kept: number | undefined;

  return {
    keep: (): Promise<void> =>
      kept === options.state.revision() && running === undefined ? Promise.resolve() : save(),
    keepPositions: save,
  };

  function save(): Promise<void> {
    if (running === undefined) return begin();
    // The running batch does not have the latest changes.
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
