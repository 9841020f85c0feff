/** Cuts tables (RFC 4180: CSV, also with tabs and semicolons) into rows, whose cells may have line breaks. */

/** The longest row (characters). */
const longest = 256 * 1024;
const delimiters = [',', '\t', ';', '|'];
const columnName = /^[@_A-Za-z][\w @./()[\]-]{0,63}$/;
const usualName = /time|date|stamp|message|msg|log|line|raw|text|event|body/i;

/** Returns the delimiter if the text begins with a row of names and a row with as many cells; undefined for other texts. */
export function delimiterOf(text: string): string | undefined {
  const head = text.replace(/^\u00ef\u00bb\u00bf/, '');
  return delimiters.find((delimiter) => {
    const rows: string[][] = [];
    const splitter = createRows(delimiter, { take: (cells) => rows.length < 2 && rows.push(cells), tooLong: () => {} });
    splitter.write(head.slice(0, 16 * 1024));
    splitter.end();
    const [names = [], first] = rows;
    return (
      names.length > 1 &&
      names.every((name) => columnName.test(name)) &&
      names.some((name) => usualName.test(name)) &&
      first?.length === names.length
    );
  });
}

interface RowSink {
  take: (cells: string[]) => void;
  tooLong: () => void;
}

export interface RowReader {
  write: (text: string) => void;
  /** Returns whether the last row was complete. */
  end: () => boolean;
}

export function createRows(delimiter: string, { take, tooLong }: RowSink): RowReader {
  let cells: string[] = [];
  let cell = '';
  let length = 0;
  let [isQuoted, mayEnd, isSkipped] = [false, false, false];

  return {
    write(text) {
      let from = 0;
      for (let at = 0; at < text.length; at++) {
        const character = text[at] as string;
        if (isQuoted) {
          if (character !== '"') continue;
          add(text, from, at);
          [isQuoted, mayEnd, from] = [false, true, at + 1];
        } else if (character === '"') {
          // Two quotes within a cell are one.
          add(text, from, at);
          if (mayEnd) cell += '"';
          [isQuoted, mayEnd, from] = [true, false, at + 1];
        } else {
          mayEnd = false;
          if (character === delimiter) {
            add(text, from, at);
            next();
            from = at + 1;
          } else if (character === '\n') {
            add(text, from, at);
            row();
            from = at + 1;
          }
        }
      }
      add(text, from, text.length);
    },
    end() {
      const isWhole = !isQuoted;
      if (cell !== '' || cells.length > 0) row();
      return isWhole;
    },
  };

  function add(text: string, from: number, to: number): void {
    length += to - from;
    if (length > longest) {
      [isSkipped, cell, cells] = [true, '', []];
      // The text after a quote that is never closed is read from the next line on.
      const end = isQuoted ? text.indexOf('\n', from) : -1;
      if (end >= 0 && end < to) [isQuoted, length] = [false, 0];
      return;
    }
    if (!isSkipped) cell += text.slice(from, to);
  }

  function next(): void {
    cells.push(cell);
    cell = '';
  }

  function row(): void {
    cell = cell.endsWith('\r') ? cell.slice(0, -1) : cell;
    next();
    if (isSkipped) tooLong();
    else if (cells.length > 1 || cells[0] !== '') take(cells);
    [cells, length, isSkipped] = [[], 0, false];
  }
}
