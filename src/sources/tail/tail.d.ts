/** Declares what is used of the package `tail` 2.2.6, also of its insides: the lockfile pins it. */
declare module 'tail' {
  import type { EventEmitter } from 'node:events';
  import type { FSWatcher } from 'node:fs';

  export interface TailOptions {
    separator?: RegExp | string | null;
    fromBeginning?: boolean;
    follow?: boolean;
  }

  export class Tail extends EventEmitter {
    constructor(path: string, options?: TailOptions);
    protected encoding: BufferEncoding | undefined;
    protected watcher: FSWatcher | undefined;
    /** Up to where reading has been asked for. */
    protected currentCursorPos: number;
    /** Blocks asked for; the first one is being read. */
    protected queue: { start: number; end: number }[];
    protected watch(cursor: number, flush: boolean): void;
    protected rename(name: string | null): void;
    protected change(): void;
    protected latestPosition(): number;
    unwatch(): void;
  }
}
