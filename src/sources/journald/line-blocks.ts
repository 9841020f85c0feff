const newline = 10;

export interface LineBlocksOptions {
  /** Bytes, the newline included. Longer lines are skipped. */
  longest: number;
  /** Whole lines, each with its newline, of which only the first can have come in several chunks. Valid during the call only. */
  onLines: (block: Buffer) => void;
  onTooLong: (bytes: number) => void;
}

export interface LineBlocks {
  write: (chunk: Buffer) => void;
  reset: () => void;
}

/** Cuts what comes in chunks of any size after the last newline, and holds at most one unfinished line. */
export function createLineBlocks({ longest, onLines, onTooLong }: LineBlocksOptions): LineBlocks {
  /** The unfinished line: joined when its end has come, else long lines would be copied again with each chunk. */
  let held: Buffer[] = [];
  let length = 0;
  let skipping = false;

  return {
    write(chunk) {
      let from = 0;
      if (length > 0) {
        const end = chunk.indexOf(newline) + 1;
        if (end === 0) return hold(chunk);
        hold(chunk.subarray(0, end));
        from = end;
        finish();
      }
      const end = chunk.lastIndexOf(newline) + 1;
      if (end > from) takeLines(chunk.subarray(from, end));
      const rest = chunk.subarray(Math.max(from, end));
      if (rest.length > 0) hold(rest);
    },
    reset,
  };

  function hold(piece: Buffer): void {
    length += piece.length;
    if (length > longest) {
      skipping = true;
      held = [];
    }
    if (!skipping) held.push(piece);
  }

  function finish(): void {
    const [line, size] = [skipping ? undefined : Buffer.concat(held), length];
    reset();
    if (line === undefined) onTooLong(size);
    else onLines(line);
  }

  function takeLines(lines: Buffer): void {
    // Pipes give 64 KiB at most.
    if (lines.length <= longest) return onLines(lines);
    for (let start = 0; start < lines.length;) {
      const end = lines.indexOf(newline, start) + 1;
      if (end - start > longest) onTooLong(end - start);
      else onLines(lines.subarray(start, end));
      start = end;
    }
  }

  function reset(): void {
    held = [];
    length = 0;
    skipping = false;
  }
}
