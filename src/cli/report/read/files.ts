/** Finds files of rows and reads their lines, and makes temporary files. */
import { closeSync, globSync, mkdtempSync, openSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { parsed } from '../../../base/platform/json.ts';
import { reasonOf } from '../../../base/platform/system-error.ts';
import { InputError, openInput } from '../../../read/sources/reading.ts';
import { writeAll } from '../../../base/platform/file-io.ts';
import { ReportError } from '../model.ts';

/** `-` is standard input. The name of an existing file is not a pattern. `problems` says what cannot be found or read. */
export function findFiles(named: readonly string[]): { files: string[]; problems: string[] } {
  const seen = new Set<string>();
  const found: ReturnType<typeof findFiles> = { files: [], problems: [] };
  const add = (name: string): void => {
    const paths = name === '-' || identityOf(name) !== undefined ? [name] : globSync(name).toSorted();
    if (paths.length === 0)
      found.problems.push(`${name}: ${/[*?[{]/.test(name) ? 'no file has such a name' : 'no such file'}`);
    for (const path of paths) {
      const identity = path === '-' ? '-' : identityOf(path);
      // Skip folders among several matches of a pattern.
      if (identity === undefined || seen.has(identity) || (paths.length > 1 && statSync(path).isDirectory())) continue;
      seen.add(identity);
      found.files.push(path);
    }
  };
  for (const name of named) {
    try {
      add(name);
    } catch (error) {
      found.problems.push(`${name}: cannot be read: ${reasonOf(error)}`);
    }
  }
  return found;
}

/** Returns the same text for a link and its target; undefined if the file does not exist. */
function identityOf(path: string): string | undefined {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? undefined : `${stat.dev}.${stat.ino}`;
}

/** The most characters of a line. A longer line is not a row, because rows have about a kilobyte. */
const longestLine = 1024 * 1024;

/** Calls `take` with each line, or with undefined for a line that is too long. Rejects with an `InputError`, or with what `take` throws. */
export async function eachLine(path: string, take: (line: string | undefined) => void): Promise<void> {
  const decoder = new StringDecoder('utf8');
  let [line, isTooLong] = ['', false];
  const end = (): void => {
    const whole = isTooLong ? undefined : line;
    // The line is over before `take` may throw, so that `take` does not get it again at the end.
    [line, isTooLong] = ['', false];
    take(whole);
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
    });
  } finally {
    if (line !== '' || isTooLong) end();
  }
}

/** Thrown by `take` to end the reading of a file. */
const enough = new Error('enough');

/** Reads lines until `take` throws `enough`. A damaged file is read as far as possible. */
async function untilEnough(path: string, take: (line: string | undefined) => void): Promise<void> {
  await eachLine(path, take).catch((error: unknown) => {
    if (error !== enough && !(error instanceof InputError)) throw error;
  });
}

/** Returns the line numbers of rows by their indexes (from 0, ascending). As in DuckDB, blank lines are not rows. */
export async function lineNumbers(path: string, places: readonly number[]): Promise<number[]> {
  const found: number[] = [];
  let [line, place] = [0, 0];
  await untilEnough(path, (text) => {
    line++;
    if (isBlank(text)) return;
    if (place++ === places[found.length]) found.push(line);
    if (found.length === places.length) throw enough;
  });
  return found;
}

/** Rejects if none of the first thousand lines is a JSON object, because reading another kind of log may take gigabytes. */
export async function requireRows(path: string): Promise<void> {
  let lines = 0;
  await untilEnough(path, (line) => {
    if (isBlank(line)) return;
    if (objectIn(line) !== undefined) throw enough;
    if (++lines === 1000) throw new Error(`is no audit: none of its first ${lines} lines is a flow record`);
  });
}

/** Writes a copy that DuckDB can read to its end: a line that is not a JSON object, or is too long, becomes `{}`. */
export async function writeReadable(from: string, to: string): Promise<void> {
  const file = openSync(to, 'w');
  let ready = '';
  try {
    await eachLine(from, (line) => {
      ready += isBlank(line) || objectIn(line) !== undefined ? `${line}\n` : '{}\n';
      if (ready.length < longestLine) return;
      writeTemporary(file, ready);
      ready = '';
    });
  } finally {
    writeTemporary(file, ready);
    closeSync(file);
  }
}

function isBlank(line: string | undefined): boolean {
  return line !== undefined && /^[ \t\r]*$/.test(line);
}

export function objectIn(line: string | undefined): object | undefined {
  const value = line === undefined || line.length > longestLine ? undefined : parsed(line);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
}

/** Throws a `ReportError`. */
export function createWorkFolder(parent = tmpdir()): { path: string; remove: () => void } {
  const path = makeFolder(join(parent, 'kube-netfilter-tailer-report-'));
  const remove = (): void => {
    process.off('exit', remove);
    rmSync(path, { recursive: true, force: true });
  };
  // Also remove the folder at exit, because an interrupted report calls `process.exit`.
  process.once('exit', remove);
  return { path, remove };
}

function makeFolder(start: string): string {
  try {
    return mkdtempSync(start);
  } catch (error) {
    throw inOtherPlace('no folder for temporary files can be made', error);
  }
}

/** Throws a `ReportError`, so that a full disk for temporary files is not taken for a failure of the output. */
export function writeTemporary(fd: number, text: string | Buffer): void {
  try {
    writeAll(fd, text);
  } catch (error) {
    throw inOtherPlace('temporary files cannot be written', error);
  }
}

function inOtherPlace(what: string, cause: unknown): ReportError {
  return new ReportError(`${what} (TMPDIR names another place): ${reasonOf(cause)}`, { cause });
}
