/** Which logs `replay` reads, and in which order. */
import { createHash } from 'node:crypto';
import { fstatSync, statSync } from 'node:fs';
import type { ReplayOptions } from '../options/replay-options.ts';
import type { ClockOptions } from '../../sources/envelopes/clock.ts';
import { openInput } from '../../sources/framing/input.ts';
import { type Peek, peek } from '../../sources/framing/peek.ts';

/** A log to be read, with the clock that its first and last lines suggest. */
export interface ReplayInput {
  name: string;
  clock: Omit<ClockOptions, 'latest'>;
}

interface Candidate extends ReplayInput, Pick<Peek, 'start'> {
  /** `device.inode`; undefined where there is no such file. */
  file: string | undefined;
  first: number;
}

/** Each log once, oldest first. `onRepeat` gets a sentence for each that is another's file, or its copy when unpacked. */
export async function chooseInputs(
  options: ReplayOptions,
  onRepeat: (sentence: string) => void,
): Promise<ReplayInput[]> {
  const files = new Map<string, Candidate>();
  const chosen: Candidate[] = [];
  for (const name of options.logs) {
    const candidate = lookAt(name, options);
    const same = candidate.file === undefined ? undefined : files.get(candidate.file);
    const original = same ?? (await originalOf(candidate, chosen));
    if (original !== undefined) {
      onRepeat(`${name}: is ${same ? 'the same file as' : 'a copy of'} ${original.name}, which is read once`);
      continue;
    }
    chosen.push(candidate);
    if (candidate.file !== undefined) files.set(candidate.file, candidate);
  }
  return chosen.toSorted((a, b) => (a.first === b.first ? 0 : a.first - b.first));
}

function lookAt(name: string, { zone, bootTime: boot, now }: ReplayOptions): Candidate {
  const file = identityOf(name);
  if (name === '-') return { name, clock: { zone, boot }, file, first: -Infinity, start: undefined };
  const { firstTime = -Infinity, lastUptime, start } = peek(name, { zone, boot, latest: now });
  return { name, clock: { zone, boot, lastUptime }, file, first: firstTime, start };
}

/** A link and what it points to, two names of one file and `- < FILE` have the same. */
function identityOf(name: string): string | undefined {
  try {
    const { dev, ino } = name === '-' ? fstatSync(0, { bigint: true }) : statSync(name, { bigint: true });
    return `${dev}.${ino}`;
  } catch {
    return undefined;
  }
}

/** Only what begins alike is read to its end for that. */
async function originalOf(log: Candidate, chosen: readonly Candidate[]): Promise<Candidate | undefined> {
  if (!log.start) return undefined;
  const alike = chosen.filter(({ start }) => start === log.start);
  for (const each of alike) if ((await digestOf(each.name)) === (await digestOf(log.name))) return each;
  return undefined;
}

/** Of the unpacked content. What cannot be read is like nothing else; the error is reported when its turn comes. */
async function digestOf(name: string): Promise<string | symbol> {
  const hash = createHash('sha256');
  try {
    await openInput(name).read((block) => hash.update(block));
    return hash.digest('hex');
  } catch {
    return Symbol(name);
  }
}
