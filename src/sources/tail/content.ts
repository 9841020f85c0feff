import type { OpenLog } from './open-log.ts';

/** Hands over what stands in a file that is held open, block by block, and notices when it changes. */
export interface Content {
  /** Changes are reported. If not, the file has to be looked at often. */
  readonly isWatched: boolean;
  /** A block that was asked for has not been handed over yet. */
  readonly isBusy: boolean;
  /** Bytes to read up to, as far as known now. Throws the system's error. */
  size: () => number;
  /** Asks for what stands from that byte on, or some of it. Either `onBlock` follows, perhaps in several pieces, or `onError`, or there was nothing. */
  read: (from: number) => void;
  /** The listener is not called after that. The file itself stays open. */
  close: () => void;
}

export interface ContentListener {
  /** A block is valid only during the call. */
  onBlock: (block: Buffer) => void;
  /** After the last call of `onBlock` in one turn of the event loop. */
  onTurn: () => void;
  onError: (error: unknown) => void;
  /** A hint: there may be more to read. */
  onChange: () => void;
  /** A hint: the file has another name now, or none. */
  onMoved: () => void;
}

export type OpenContent = (log: OpenLog, listener: ContentListener) => Content;
