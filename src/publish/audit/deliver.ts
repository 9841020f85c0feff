import { setTimeout as pause } from 'node:timers/promises';
import type { Millis } from '../../base/model/log-line.ts';
import { createBackOff } from '../../base/platform/rates.ts';
import type { AuditQueue, Batch } from './queue.ts';

export interface DeliveryReport {
  /** The receiver has the rows, but refused `refused` of them for good. */
  sent: (sink: string, rows: number, refused: number) => void;
  /** The whole batch will be sent again. */
  failed: (sink: string, error: unknown) => void;
}

export interface DeliverOptions {
  queue: AuditQueue;
  sink: Sink;
  gapRow: (sink: string, lost: NonNullable<Batch['lost']>) => string;
  report: DeliveryReport;
  backOff?: { first: Millis; longest: Millis };
}

export interface Delivery {
  wake: () => void;
  /** Sends queued rows until a batch fails or `grace` is over. The sink is closed, unless its disk hangs. */
  stop: (grace: Millis) => Promise<void>;
}

const usualBackOff = { first: 1000, longest: 60_000 };

/** Sends batches one after another, and repeats each until the receiver has it. So an outage loses only rows for which the queue has no room. */
export function startDelivery({ queue, sink, gapRow, report, ...options }: DeliverOptions): Delivery {
  const backOff = createBackOff(options.backOff ?? usualBackOff, Math.random);
  const stopping = new AbortController();
  const aborting = new AbortController();
  let more = Promise.withResolvers<void>();
  const finished = run();

  return {
    wake: () => more.resolve(),
    async stop(grace) {
      stopping.abort();
      more.resolve();
      const timeOut = Promise.withResolvers<void>();
      const timer = setTimeout(timeOut.resolve, grace);
      // A disk that hangs ends no write, not even on close.
      await Promise.race([finished.then(() => sink.close()), timeOut.promise]);
      clearTimeout(timer);
      aborting.abort();
    },
  };

  async function run(): Promise<void> {
    for (;;) {
      const batch = queue.next(sink.name, sink.mostRows);
      if (batch === undefined) {
        if (stopping.signal.aborted) return;
        await more.promise;
        more = Promise.withResolvers();
        continue;
      }
      const { isSent, retryAfter } = await send(batch);
      if (isSent) backOff.reset();
      else if (stopping.signal.aborted) return;
      else await pause(backOff.next(retryAfter), undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }

  async function send(batch: Batch): Promise<{ isSent: boolean; retryAfter?: Millis | undefined }> {
    const rows = batch.lost === undefined ? batch.rows : [gapRow(sink.name, batch.lost), ...batch.rows];
    try {
      const refused = await sink.send(rows, aborting.signal);
      queue.confirm(sink.name, batch);
      report.sent(sink.name, rows.length, refused);
      return { isSent: true };
    } catch (error) {
      report.failed(sink.name, error);
      return { isSent: false, retryAfter: error instanceof RefusedForNowError ? error.retryAfter : undefined };
    }
  }
}

export class RefusedForNowError extends Error {
  readonly retryAfter: Millis | undefined;

  constructor(message: string, retryAfter: Millis | undefined) {
    super(message);
    this.retryAfter = retryAfter;
  }
}

export interface Sink {
  readonly name: string;
  readonly mostRows: number;
  /** Resolves to the number of refused rows when the receiver has stored the others. Rejects if all rows must be sent again. */
  send: (rows: readonly string[], signal: AbortSignal) => Promise<number>;
  close: () => Promise<void>;
}
