import { type KubeConfig, Watch } from '@kubernetes/client-node';
import type { Millis } from '../model/log-line.ts';
import type { Json } from './slim.ts';

/** An object as `ListWatch` keeps it: it looks at `metadata.namespace`, `.name` and `.resourceVersion`, which ours have at the top. */
export interface Kept<T> {
  metadata: T;
}

export interface SlimWatchOptions<T> {
  config: () => KubeConfig;
  /** An object of the API → what is kept of it. May throw. */
  slim: (object: Json) => T;
  /** A watch begins: whatever was listed before it has been handed over. */
  onBegin: () => void;
  /** Anything that came from the server, bookmarks included. */
  onHeard: () => void;
  /** A watch has ended, be it that the server ended it in good order (no error). */
  onEnd: (error: unknown) => void;
  /** An object that `slim` could not use. */
  onUnusable: (error: unknown) => void;
  /** Between 0 and 1. */
  random: () => number;
  /** Between two watches. */
  pause: (duration: Millis) => Promise<void>;
  silence?: Millis | undefined;
}

/**
 * A watch is given up after that long without a word. The API server sends a bookmark about every minute, so silence means a
 * connection that is dead without knowing it.
 */
const defaultSilence: Millis = 100_000;

/** A watch is asked for anew after that long, or up to twice that: not all nodes at once. The server's own limit is as long. */
const lifetime: Millis = 1_800_000;

/** Connections of all nodes break at once when an API server stops; they do not all come back in the same second. */
const reconnectSpread: Millis = 2000;

/**
 * The library's watch, made fit to run for months: it asks for bookmarks (without them a quiet watch ends in 410 and a full
 * list), keeps only slim objects, and never lets an error out other than by `done`.
 */
export class SlimWatch<T> extends Watch {
  readonly #options: SlimWatchOptions<T>;
  #watches = 0;
  #current: AbortController | undefined;
  #stopped = false;

  constructor(options: SlimWatchOptions<T>) {
    super(options.config());
    this.#options = options;
    // A private field of the library; without it, a quiet watch is made anew every 30 seconds.
    Object.assign(this, { requestTimeoutMs: options.silence ?? defaultSilence });
  }

  override async watch(
    path: string,
    query: Record<string, string | number | boolean | undefined>,
    callback: (phase: string, object: unknown, event?: unknown) => unknown,
    done: (error: unknown) => void,
  ): Promise<AbortController> {
    const { config, random, pause, onBegin, onHeard, onEnd } = this.#options;
    // The library pauses before it asks for a watch, and does not look whether it was stopped meanwhile.
    if (this.#stopped) return new AbortController();
    const end = (error: unknown): void => {
      onEnd(error);
      done(error);
    };
    onBegin();
    try {
      if (this.#watches++ > 0) await pause(random() * reconnectSpread);
      if (this.#stopped) return new AbortController();
      this.config = config();
      const timeoutSeconds = Math.round((lifetime * (1 + random())) / 1000);
      const controller = await super.watch(
        path,
        { ...query, allowWatchBookmarks: true, timeoutSeconds },
        (phase: string, object: Json) => {
          onHeard();
          this.#hand(phase, object, callback);
        },
        end,
      );
      onHeard();
      // The library's informer cannot stop a watch that is just being connected.
      if (this.#stopped) controller.abort();
      this.#current = controller;
      return controller;
    } catch (error) {
      // The library starts the next watch from within this one's end, where nobody would catch what it throws.
      queueMicrotask(() => end(error));
      return new AbortController();
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#current?.abort();
  }

  #hand(phase: string, object: Json, callback: (phase: string, object: unknown) => unknown): void {
    const isObject = phase === 'ADDED' || phase === 'MODIFIED' || phase === 'DELETED';
    let handed = object;
    if (isObject) {
      try {
        handed = { metadata: this.#options.slim(object) } satisfies Kept<T>;
      } catch (error) {
        return this.#options.onUnusable(error);
      }
    }
    void Promise.resolve(callback(phase, handed)).catch(this.#options.onUnusable);
  }
}
