/** Physical lines of a file, found without reading them as JSON. */
import { closeSync, openSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { InputError, openInput } from '../../sources/framing/input.ts';
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
 * Hands over each line of a file as text; undefined stands for one that is too long. `onBlock`: the lines of a block have been handed
 * over. Rejects with an `InputError`, after what was read until then, and with what the callbacks throw.
 */
export async function eachLine(
  path: string,
  take: (line: string | undefined) => void,
  onBlock: () => void = () => {},
): Promise<void> {
  const decoder = new StringDecoder('utf8');
  let [line, isTooLong] = ['', false];
  const end = (): void => {
    take(isTooLong ? undefined : line);
    [line, isTooLong] = ['', false];
  };
  try {
    await openInput(path).read((block) => {
      const [first = '', ...more] = decoder.write(block).split('\n');
      line += first;
      for (const next of more) {
        end();
        line = next;
      }
      if (line.length > longestLine) [line, isTooLong] = ['', true];
      onBlock();
    });
  } finally {
    if (line !== '' || isTooLong) end();
  }
}

/** Rejects where the first thousand lines of a file are no JSON objects: gigabytes of another log need not be read to their end. */
export async function requireRows(path: string): Promise<void> {
  let lines = 0;
  const enough = new Error('enough');
  const take = (line: string | undefined): void => {
    if (line?.trim() === '') return;
    if (line !== undefined && isReadable(line)) throw enough;
    if (++lines === 1000) throw new Error(`is no audit: none of its first ${lines} lines is a flow record`);
  };
  await eachLine(path, take).catch((error: unknown) => {
    // What is damaged is read as far as it goes.
    if (error !== enough && !(error instanceof InputError)) throw error;
  });
}

/**
 * Writes what DuckDB refuses as a whole so that it reads it: a line that is no JSON object, or longer than 1 MiB, becomes `{}`. The order and
 * number of lines stay.
 */
export async function writeReadable(from: string, to: string): Promise<void> {
  const file = openSync(to, 'w');
  let ready = '';
  const flush = (): void => {
    const text = ready;
    ready = '';
    writeTemporary(file, text);
  };
  try {
    await eachLine(from, (line) => (ready += line !== undefined && isReadable(line) ? `${line}\n` : '{}\n'), flush);
  } finally {
    flush();
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
