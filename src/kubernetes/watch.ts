import type { Millis } from '../model/log-line.ts';
import type { Connection, Query } from './connection.ts';
import { type Json, parsed } from './json.ts';

/** A watch brought nothing for too long: its connection may be dead without knowing it. */
export class SilentWatchError extends Error {}

/** As it came: neither is checked. */
export interface WatchEvent {
  type?: Json;
  object?: Json;
}

/** Undefined when the answer begins, then events. Throws what broke it; after `silence` without a byte a `SilentWatchError`. */
export async function* watchEvents(
  { stream }: Pick<Connection, 'stream'>,
  path: string,
  query: Query,
  silence: Millis,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent | undefined, void> {
  const silent = new AbortController();
  const timer = setTimeout(() => silent.abort(new SilentWatchError()), silence).unref();
  try {
    const body = await stream(path, { ...query, watch: true }, AbortSignal.any([signal, silent.signal]));
    timer.refresh();
    yield undefined;
    const decoder = new TextDecoder();
    let rest = '';
    for await (const chunk of body) {
      timer.refresh();
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const event = parsed(line);
        if (typeof event === 'object' && event !== null) yield event;
      }
    }
  } catch (error) {
    throw silent.signal.aborted ? silent.signal.reason : error;
  } finally {
    clearTimeout(timer);
    silent.abort();
  }
}
