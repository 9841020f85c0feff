/** Physical lines of a file, found without reading them as JSON. */
import { closeSync, openSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { openInput } from '../../sources/framing/input.ts';
import { writeTemporary } from '../work-folder.ts';

const [newline, space, tab, carriageReturn] = [10, 32, 9, 13];

/** Of lines that have more than blanks, the numbers of those at these places (from 0, ascending). Both number them as DuckDB does. */
export async function lineNumbers(path: string, places: readonly number[]): Promise<number[]> {
  const found: number[] = [];
  let [line, place, hasText] = [1, 0, false];
  const enough = new Error('enough');
  const read = openInput(path).read((block) => {
    for (const byte of block) {
      if (byte === newline) {
        if (hasText) place++;
        line++;
        hasText = false;
      } else if (!hasText && byte !== space && byte !== tab && byte !== carriageReturn) {
        hasText = true;
        while (places[found.length] === place) found.push(line);
        if (found.length === places.length) throw enough;
      }
    }
  });
  await read.catch((error: unknown) => {
    if (error !== enough && found.length < places.length) throw error;
  });
  return found;
}

/** Longer lines are no rows: one of ours has about a kilobyte. */
const longestLine = 1024 * 1024;

/**
 * Writes what DuckDB refuses as a whole so that it reads it: a line that is no JSON object, or longer than 1 MiB, becomes `{}`. The order and
 * number of lines stay.
 */
export async function writeReadable(from: string, to: string): Promise<void> {
  const file = openSync(to, 'w');
  const decoder = new StringDecoder('utf8');
  let [line, isTooLong] = ['', false];
  const end = (): string => {
    const text = isTooLong || !isReadable(line) ? '{}\n' : `${line}\n`;
    [line, isTooLong] = ['', false];
    return text;
  };
  try {
    await openInput(from).read((block) => {
      const [first = '', ...more] = decoder.write(block).split('\n');
      line += first;
      let ready = '';
      for (const next of more) {
        ready += end();
        line = next;
      }
      if (line.length > longestLine) [line, isTooLong] = ['', true];
      writeTemporary(file, ready);
    });
  } finally {
    if (line !== '' || isTooLong) writeTemporary(file, end());
    closeSync(file);
  }
}

function isReadable(line: string): boolean {
  if (line.length > longestLine) return false;
  if (/^[ \t\r]*$/.test(line)) return true;
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
