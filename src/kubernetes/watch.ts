import type { Millis } from '../model/log-line.ts';
import type { Connection, Query } from './connection.ts';
import { type Json, parsed } from '../platform/json.ts';

/** A watch brought nothing for too long: its connection may be dead without knowing it. */
export class SilentWatchError extends Error {
  override message = 'no answer in time';
}

/** As it came: neither is checked. */
export interface WatchEvent {
  type?: Json;
  object?: Json;
}

const newline = 10;

/** Characters of one event: etcd takes no object of more than 1.5 MiB, and JSON has six for one where it is `<`. */
const longestEvent = 10 * 1024 * 1024;

/**
 * Undefined when the answer begins, then events. Throws what broke it; after `silence` without a byte a `SilentWatchError`. The head of the
 * answer has as long: a proxy may hold it back until the first event, which is a bookmark after a minute where nothing happens.
 */
export async function* watchEvents(
  { stream }: Pick<Connection, 'stream'>,
  path: string,
  query: Query,
  silence: Millis,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent | undefined, void> {
  const silent = new AbortController();
  const giveUp = (): void => silent.abort(new SilentWatchError());
  const timer = setTimeout(giveUp, silence).unref();
  try {
    const body = await stream(path, { ...query, watch: true }, AbortSignal.any([signal, silent.signal]));
    timer.refresh();
    yield undefined;
    const decoder = new TextDecoder();
    let rest = '';
    for await (const chunk of body) {
      timer.refresh();
      rest += decoder.decode(chunk, { stream: true });
      if (rest.length > longestEvent) throw new Error('the watch sends an object that is too large');
      if (!chunk.includes(newline)) continue;
      const lines = rest.split('\n');
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
