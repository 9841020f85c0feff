/** Declares the parts of the package `tail` 2.2.6 that are used. Some are internal, so the lockfile pins the version. */
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
    /** The position up to which reading was asked for. */
    protected currentCursorPos: number;
    /** Blocks that were asked for. The first one is being read. */
    protected queue: { start: number; end: number }[];
    protected watch(cursor: number, flush: boolean): void;
    protected rename(name: string | null): void;
    protected change(): void;
    protected latestPosition(): number;
    unwatch(): void;
  }
}
