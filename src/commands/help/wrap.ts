/** Help as wide as the terminal. */

/** Lines past `columns` go on below where their text begins: behind an option and its gap, else behind the indent. */
export function wrapped(text: string, columns: number): string {
  return text
    .split('\n')
    .flatMap((line) => (line.length <= columns ? [line] : wrapLine(line, columns)))
    .join('\n');
}

function wrapLine(line: string, columns: number): string[] {
  const [head = ''] = /^ *(?:(?=-)\S.*? {2,}|(?=\S+ {2,})\S+ {2,})?/.exec(line) ?? [];
  // On a narrow terminal the text has the room, not the column before it.
  const indent = ' '.repeat(head.length > columns / 2 ? Math.min(4, columns / 4) : head.length);
  const lines: string[] = [];
  let current = head;
  let isEmpty = true;
  for (const word of line.slice(head.length).split(' ')) {
    if (!isEmpty && current.length + 1 + word.length > columns) {
      lines.push(current);
      current = indent;
      isEmpty = true;
    }
    current += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, current];
}
