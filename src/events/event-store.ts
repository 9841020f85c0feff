import type { Millis } from '../model/log-line.ts';
import type { CoreEvent } from './event.ts';

/** Fields that the store adds to a written Event. */
export interface StoredEvent {
  resourceVersion: string;
  component: string;
  count: number;
  lastTimestamp: Millis | undefined;
  firstTimestamp: Millis | undefined;
  annotations: Readonly<Record<string, string>>;
}

/** A request that was answered with a refusal, or not at all. */
export interface Refusal {
  kind: 'refused';
  /** HTTP status; 0 when there was no answer. */
  status: number;
  /** `reason` of the answer's Status object, `NamespaceTerminating` where that is its cause; '' if there is none. */
  reason: string;
  message: string;
  /** Milliseconds the server asks to wait (Retry-After). */
  retryAfter: Millis | undefined;
}

export type Stored = { kind: 'stored'; event: StoredEvent };

/** Keeps Events: the API server. Never throws, never takes longer than its own time-out. */
export interface EventStore {
  create: (event: CoreEvent) => Promise<Stored | Refusal>;
  read: (namespace: string, name: string) => Promise<Stored | Refusal>;
  /** Changes the fields that differ from write to write. `resourceVersion`: refuse (409) if it has changed since. */
  update: (event: CoreEvent, resourceVersion: string) => Promise<Stored | Refusal>;
}
