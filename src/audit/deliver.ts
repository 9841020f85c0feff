import { setTimeout as pause } from 'node:timers/promises';
import type { Millis } from '../model/log-line.ts';
import { createBackOff } from '../platform/back-off.ts';
import type { AuditQueue, Batch } from './queue.ts';

/** Is told of each attempt to send rows. */
export interface DeliveryReport {
  /** `refused` of the rows were not taken, and are not sent again. */
  sent: (sink: string, rows: number, refused: number) => void;
  /** All of the rows are sent again. */
  failed: (sink: string, error: unknown) => void;
}

export interface DeliverOptions {
  queue: AuditQueue;
  sink: Sink;
  /** The row that stands for those that the receiver never had. */
  gapRow: (sink: string, lost: NonNullable<Batch['lost']>) => string;
  report: DeliveryReport;
  /** Limits of the pauses after attempts that failed. */
  backOff?: { first: Millis; longest: Millis };
}

export interface Delivery {
  /** There are rows that there were not before. */
  wake: () => void;
  /** Ends after the batch under way, at most so long from now. */
  stop: (grace: Millis) => Promise<void>;
}

const usualBackOff = { first: 1000, longest: 60_000 };

/** Sends a sink one batch after another, each until it is taken: a receiver that is away loses nothing that the queue can hold. */
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
      const timer = setTimeout(() => aborting.abort(), grace);
      await finished;
      clearTimeout(timer);
      await sink.close();
    },
  };

  async function run(): Promise<void> {
    for (;;) {
      const batch = queue.next(sink.name, sink.most);
      if (batch === undefined) {
        if (stopping.signal.aborted) return;
        await more.promise;
        more = Promise.withResolvers();
      } else if (await send(batch)) backOff.reset();
      else if (stopping.signal.aborted) return;
      else await pause(backOff.next(), undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }

  async function send(batch: Batch): Promise<boolean> {
    const rows = batch.lost === undefined ? batch.rows : [gapRow(sink.name, batch.lost), ...batch.rows];
    try {
      const refused = await sink.send(rows, aborting.signal);
      queue.confirm(sink.name, batch);
      report.sent(sink.name, rows.length, refused);
      return true;
    } catch (error) {
      report.failed(sink.name, error);
      return false;
    }
  }
}

/** The sink that rows are sent to. */
export interface Sink {
  readonly name: string;
  /** Rows of one batch at most. */
  readonly most: number;
  /** Resolves when the receiver has the rows for good, to how many of them it refused. Rejects when they must be sent again. */
  send: (rows: readonly string[], signal: AbortSignal) => Promise<number>;
  close: () => Promise<void>;
}
