import type { Connection } from '../control-plane/connection.ts';
import type { Machine } from './machine.ts';
import type { Pod } from './pod-object.ts';

export interface SetupOptions {
  readonly connection: Connection;
  readonly machine: Machine;
  readonly pod: Pod;
  /** For what is made for this Pod. */
  readonly folder: string;
  readonly address: string;
}
