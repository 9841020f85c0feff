import type { OpenLog } from './open-log.ts';

/** Hands over what stands in a file that is held open, block by block, and notices when it changes. */
export interface Content {
  /** Changes are reported. If not, the file has to be looked at often. */
  readonly isWatched: boolean;
  /** A block that was asked for has not been handed over yet. */
  readonly isBusy: boolean;
  /** Bytes to read up to, as far as known now. Throws the system's error. */
  size: () => number;
  /** Asks for what stands from that byte on, or some of it. Either `block` follows, perhaps in several pieces, or `failed`, or there was nothing. */
  read: (from: number) => void;
  /** The listener is not called after that. The file itself stays open. */
  close: () => void;
}

export interface ContentListener {
  /** A block is valid only during the call. */
  block: (block: Buffer) => void;
  /** Follows the last block of one turn of the event loop. */
  turnEnded: () => void;
  failed: (error: unknown) => void;
  /** A hint: there may be more to read. */
  changed: () => void;
  /** A hint: the file has another name now, or none. */
  moved: () => void;
}

export type OpenContent = (log: OpenLog, listener: ContentListener) => Content;
