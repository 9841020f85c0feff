/** Decides which logs `replay` reads, in which order, and which part of them is counted and shown. */
import { createHash } from 'node:crypto';
import { fstatSync, statSync } from 'node:fs';
import type { CoreEvent } from '../../events/events.ts';
import type { Endpoint, Ends } from '../../model/endpoint.ts';
import type { Millis } from '../../model/log-line.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import { type ClockOptions, openInput } from '../../sources/sources.ts';
import type { ReplayOptions } from '../options/replay-options.ts';
import { peek, type Peek } from './peek.ts';

/** A log to be read, with the clock that its first and last lines suggest. */
export interface ReplayInput {
  name: string;
  clock: Omit<ClockOptions, 'latest'>;
}

interface Candidate extends ReplayInput, Pick<Peek, 'start'> {
  /** `device.inode`; undefined if there is no such file. */
  file: string | undefined;
  first: number;
}

/** Each log once, oldest first. `repeats` has a sentence for each that is another's file, or its copy when unpacked. */
export async function chooseInputs(options: ReplayOptions): Promise<{ inputs: ReplayInput[]; repeats: string[] }> {
  const repeats: string[] = [];
  const files = new Map<string, Candidate>();
  const chosen: Candidate[] = [];
  for (const name of options.logs) {
    const candidate = lookAt(name, options);
    const same = candidate.file === undefined ? undefined : files.get(candidate.file);
    const original = same ?? (await originalOf(candidate, chosen));
    if (original !== undefined) {
      repeats.push(`${name}: is ${same ? 'the same file as' : 'a copy of'} ${original.name}, which is read once`);
      continue;
    }
    chosen.push(candidate);
    if (candidate.file !== undefined) files.set(candidate.file, candidate);
  }
  return { inputs: chosen.toSorted((a, b) => (a.first === b.first ? 0 : a.first - b.first)), repeats };
}

function lookAt(name: string, { zone, bootTime: boot, now }: ReplayOptions): Candidate {
  const file = identityOf(name);
  if (name === '-') return { name, clock: { zone, boot }, file, first: -Infinity, start: undefined };
  const { firstTime = -Infinity, lastUptime, start } = peek(name, { zone, boot, latest: now });
  return { name, clock: { zone, boot, lastUptime }, file, first: firstTime, start };
}

/** A link and its target, two names of one file, and `- < FILE` have the same identity. */
function identityOf(name: string): string | undefined {
  try {
    const { dev, ino } = name === '-' ? fstatSync(0, { bigint: true }) : statSync(name, { bigint: true });
    return `${dev}.${ino}`;
  } catch {
    return undefined;
  }
}

/** Reads files to their ends only if they begin alike. */
async function originalOf(log: Candidate, chosen: readonly Candidate[]): Promise<Candidate | undefined> {
  if (!log.start) return undefined;
  const alike = chosen.filter(({ start }) => start === log.start);
  for (const each of alike) if ((await digestOf(each.name)) === (await digestOf(log.name))) return each;
  return undefined;
}

/** Hashes the unpacked content. A file that cannot be read equals no other; its error is reported when its turn comes. */
async function digestOf(name: string): Promise<string | symbol> {
  const hash = createHash('sha256');
  try {
    await openInput(name).read((block) => hash.update(block));
    return hash.digest('hex');
  } catch {
    return Symbol(name);
  }
}

export interface Scope {
  showsEvent: (event: Pick<CoreEvent, 'involvedObject'>) => boolean;
  /** Either end is one of the objects that are shown. */
  showsEnds: (ends: Ends) => boolean;
  /** `Namespace shop`, for the note that nothing of it is there; undefined if all is shown. */
  readonly text: string | undefined;
}

export function createScope({ namespace, pod }: Pick<ReplayOptions, 'namespace' | 'pod'>): Scope {
  const isShown = (kind: string, inNamespace: string | undefined, name: string): boolean =>
    (namespace === undefined || inNamespace === namespace) && (pod === undefined || (kind === 'Pod' && name === pod));
  const showsEnd = ({ object }: Endpoint): boolean =>
    object === undefined
      ? namespace === undefined && pod === undefined
      : isShown(object.kind, object.namespace, object.name);
  const of = [
    pod === undefined ? undefined : `Pod ${pod}`,
    namespace === undefined ? undefined : `Namespace ${namespace}`,
  ];
  return {
    showsEvent: ({ involvedObject: { kind, namespace: inNamespace, name } }) => isShown(kind, inNamespace, name),
    showsEnds: ({ source, destination }) => showsEnd(source) || showsEnd(destination),
    text: of.filter((part) => part !== undefined).join(' in ') || undefined,
  };
}

/** Lines that were logged before then are left out, and counted in `totals`. */
export function fromThen(
  { take, repeats }: Pick<Pipeline, 'take' | 'repeats'>,
  since: Millis | undefined,
  totals: { earlier: number },
): Pick<Pipeline, 'take' | 'repeats'> {
  if (since === undefined) return { take, repeats };
  const isEarlier = (time: Millis): boolean => {
    if (time >= since) return false;
    totals.earlier++;
    return true;
  };
  return {
    take(line, origin) {
      if (!isEarlier(line.time)) take(line, origin);
    },
    repeats: repeats && {
      ...repeats,
      again: (repeat, time) => isEarlier(time) || repeats.again(repeat, time),
    },
  };
}
