import { setTimeout } from 'node:timers/promises';
import type { Millis } from '../model/log-line.ts';

const mostTries = 3;

const closingTime: Millis = 100;

/** A connection that was kept may be closed just when it is used again: then `attempt` is made again. Whatever we ask may be asked twice. */
export async function retryClosed<T>(signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (signal.aborted || tries === mostTries || !wasClosed(error)) throw error;
      // Others may just be closing, too.
      await setTimeout(closingTime * (1 + Math.random()));
    }
  }
}

function wasClosed(error: unknown): boolean {
  return ['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'].includes((error as NodeJS.ErrnoException).code ?? '');
}
