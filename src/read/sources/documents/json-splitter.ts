/**
 * Cuts JSON of any shape and length into values that fit into memory: an array, an object over many lines, several values in a row. A value
 * that is too long is opened, and its content is handed over piece by piece, each with the short values of the objects around it.
 */

/** The longest value that is handed over whole (bytes). */
const longest = 256 * 1024;
const deepest = 256;
/** The most characters of each enclosing object that are handed over with a value. */
const longestContext = 4096;

interface Frame {
  isList: boolean;
  start: number;
  /** Where the current value, with its key, begins. */
  member: number;
  /** Once the value is open: its short members, and the key of the current one. */
  context: string;
  key: string;
}

export interface JsonSplitterOptions {
  /** Takes a value, or a line that is not JSON. latin1. */
  take: (text: string) => void;
  /** Whether a piece is needed, before it becomes a string. */
  isNeeded: (bytes: Buffer, start: number, end: number) => boolean;
  tooLong: () => void;
}

export interface JsonSplitter {
  write: (block: Buffer) => void;
  /** Returns whether the JSON was complete. */
  end: () => boolean;
}

const nothing = Buffer.alloc(0);

export function createJsonSplitter(sink: JsonSplitterOptions): JsonSplitter {
  return new Splitter(sink);
}

class Splitter implements JsonSplitter {
  readonly #sink: JsonSplitterOptions;
  readonly #frames: Frame[] = [];
  /** How many of the frames are open. */
  #open = 0;
  #tooDeep = 0;
  #data: Buffer = nothing;
  #at = 0;
  /** Where the next value begins. */
  #from = 0;
  #isText = false;
  #isEscaped = false;
  #isDropped = false;

  constructor(sink: JsonSplitterOptions) {
    this.#sink = sink;
  }

  write(block: Buffer): void {
    this.#data =
      this.#from < this.#data.length ? Buffer.concat([this.#data.subarray(this.#from), block]) : Buffer.from(block);
    this.#move(this.#from);
    this.#scan();
    while (this.#data.length - this.#from > longest) this.#shorten();
  }

  /** Returns whether the JSON was complete. */
  end(): boolean {
    const isWhole = this.#frames.length === 0;
    if (isWhole) this.#takeLine(this.#data.length);
    while (this.#open < this.#frames.length) this.#openNext();
    return isWhole;
  }

  /** The first `length` bytes are not kept. */
  #move(length: number): void {
    this.#at -= length;
    this.#from -= length;
    for (let i = this.#open; i < this.#frames.length; i++) {
      const frame = this.#frames[i] as Frame;
      frame.start -= length;
      frame.member -= length;
    }
    const last = this.#frames[this.#open - 1];
    if (last !== undefined) last.member -= length;
  }

  #scan(): void {
    for (; this.#at < this.#data.length; this.#at++) {
      const byte = this.#data[this.#at];
      if (this.#isText) this.#scanText(byte);
      else if (byte === 0x22) this.#isText = this.#frames.length > 0 || this.#takeOther();
      else if (byte === 0x7b || byte === 0x5b) this.#begin(byte === 0x5b);
      else if (byte === 0x7d || byte === 0x5d) this.#finish();
      else if (byte === 0x2c) this.#separate();
      else if (this.#frames.length === 0 && byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)
        this.#takeOther();
    }
  }

  #scanText(byte: number | undefined): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === 0x5c) this.#isEscaped = true;
    else if (byte === 0x22) this.#isText = false;
  }

  /** A line between values is not JSON. */
  #takeOther(): false {
    if (this.#from < this.#at && this.#frames.length === 0) this.#from = this.#at;
    const end = this.#data.indexOf(0x0a, this.#at);
    if (end < 0) {
      this.#at = this.#data.length - 1;
      return false;
    }
    this.#takeLine(end);
    this.#at = end;
    this.#from = end + 1;
    return false;
  }

  #takeLine(end: number): void {
    if (end <= this.#from || !this.#sink.isNeeded(this.#data, this.#from, end)) return;
    const line = this.#data.toString('latin1', this.#from, end).trim();
    if (line !== '') this.#sink.take(line);
  }

  #begin(isList: boolean): void {
    if (this.#frames.length >= deepest) this.#tooDeep++;
    else {
      if (this.#frames.length === 0) this.#from = this.#at;
      this.#frames.push({ isList, start: this.#at, member: this.#at + 1, context: '', key: '' });
      // The values of a list in a document are records.
      if (this.#frames.length === 1 && isList) [this.#open, this.#from] = [1, this.#at + 1];
    }
  }

  #finish(): void {
    if (this.#tooDeep > 0) this.#tooDeep--;
    else if (this.#frames.length === 0) this.#takeOther();
    else if (this.#frames.length > this.#open) {
      this.#frames.pop();
      if (this.#frames.length === this.#open) this.#handOver(this.#at + 1);
    } else {
      // The last value of a list may be a text.
      this.#handOver(this.#at);
      this.#frames.pop();
      this.#open = this.#frames.length;
      this.#from = this.#at + 1;
    }
  }

  #separate(): void {
    const frame = this.#frames.at(-1);
    if (frame === undefined) this.#from = this.#at + 1;
    else if (this.#tooDeep === 0) {
      if (this.#frames.length === this.#open) this.#handOver(this.#at);
      frame.member = this.#at + 1;
      if (this.#frames.length === this.#open) this.#from = this.#at + 1;
    }
  }

  #handOver(end: number): void {
    if (this.#isDropped) this.#sink.tooLong();
    else this.#emit(this.#from, end);
    this.#isDropped = false;
    this.#from = end;
  }

  #emit(start: number, end: number): void {
    if (start >= end || !this.#sink.isNeeded(this.#data, start, end)) return;
    const piece = this.#data.toString('latin1', start, end).trim();
    if (piece !== '' && piece !== ',') this.#sink.take(this.#within(piece));
  }

  #within(piece: string): string {
    let text = piece;
    for (let i = this.#open - 1; i >= 0; i--) {
      const { isList, context, key } = this.#frames[i] as Frame;
      if (!isList) text = `{${context}${i === this.#open - 1 ? '' : key}${text}}`;
    }
    return text;
  }

  #shorten(): void {
    while (this.#open < this.#frames.length && this.#data.length - this.#from > longest / 2) this.#openNext();
    if (this.#data.length - this.#from <= longest) return;
    // A text, or a value nested too deeply.
    this.#isDropped = true;
    this.#from = this.#data.length;
  }

  /** Opens the outermost value: hands over its finished members, and continues with the unfinished one. */
  #openNext(): void {
    const frame = this.#frames[this.#open] as Frame;
    const closing = frame.isList ? ']' : '}';
    const isAny = frame.member > frame.start + 1;
    if (!this.#isDropped && isAny) {
      const piece = `${this.#data.toString('latin1', frame.start, frame.member - 1)}${closing}`;
      if (this.#sink.isNeeded(this.#data, frame.start, frame.member))
        this.#sink.take(this.#within(`${this.#keyOf(this.#frames[this.#open - 1])}${piece}`));
      if (!frame.isList) frame.context = shortMembers(piece);
    }
    const next = this.#frames[this.#open + 1];
    if (!frame.isList && next !== undefined) frame.key = this.#data.toString('latin1', frame.member, next.start).trim();
    this.#open++;
    this.#from = frame.member;
    if (next !== undefined) this.#from = frame.isList ? next.start : frame.member;
  }

  #keyOf(parent: Frame | undefined): string {
    return parent === undefined || parent.isList ? '' : parent.key;
  }
}

/** Returns the short members of an object as they would stand before another one. */
function shortMembers(text: string): string {
  let record: object;
  try {
    record = JSON.parse(text) as object;
  } catch {
    return '';
  }
  let members = '';
  for (const [key, value] of Object.entries(record)) {
    const member = `${JSON.stringify(key)}:${JSON.stringify(value)},`;
    if (members.length + member.length <= longestContext) members += member;
  }
  return members;
}
