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
    protected watcher: FSWatcher | undefined;
    protected watch(cursor: number, flush: boolean): void;
    protected rename(name: string | null): void;
    protected change(): void;
    unwatch(): void;
  }
}
