/** Reads Events that `replay` or kubectl has printed as JSON. */
import { closeSync, fstatSync, openSync } from 'node:fs';
import { at, type Json, text } from '../../../base/platform/json.ts';
import { readAtMost } from '../../../base/platform/file-io.ts';
import { reasonOf } from '../../../base/platform/system-error.ts';
import type { ReportedEvent, TopList } from '../model.ts';

const most = 200;

/** The most bytes of a file. kubectl prints two kilobytes for each Event, so a longer file is not a list of Events. */
const largest = 256 * 1024 * 1024;

const component = 'kube-netfilter-tailer';

/** Matches the code in an incident's message: `[KN102]`, or `[KN101, KN102]` with a diagnosis. */
const code = /\[KN\d{3}(?:, KN\d{3})?\]/;

export interface ReportedEvents {
  incidents: TopList<ReportedEvent>;
  events: TopList<ReportedEvent>;
  problems: string[];
}

export function readEvents(files: readonly string[]): ReportedEvents {
  const found: { event: ReportedEvent; isIncident: boolean }[] = [];
  const problems: string[] = [];
  for (const file of files) {
    try {
      // The events of a large file are too many for the arguments of one call.
      for (const event of eventsIn(contentOf(file))) found.push(...reportedIn(event));
    } catch (error) {
      problems.push(`${file}: ${error instanceof SyntaxError ? 'is no JSON of Events' : reasonOf(error)}`);
    }
  }
  const bounded = (incidents: boolean): TopList<ReportedEvent> => {
    const sorted = found
      .flatMap(({ event, isIncident }) => (isIncident === incidents ? [event] : []))
      .toSorted((a, b) => a.first - b.first);
    return { top: sorted.slice(0, most), more: Math.max(0, sorted.length - most) };
  };
  return { incidents: bounded(true), events: bounded(false), problems };
}

/** Reads a file, or a pipe, whose size only its end tells. Throws an error as soon as it is too large, so that memory is bounded. */
function contentOf(path: string): string {
  const file = openSync(path, 'r');
  try {
    const content = fstatSync(file).size > largest ? undefined : readAtMost(file, largest);
    if (content === undefined) throw new Error('is larger than 256 MiB');
    return content.toString();
  } finally {
    closeSync(file);
  }
}

/** Reads one Event a line, or one Event or list of Events. Throws a `SyntaxError`. */
function eventsIn(content: string): Json[] {
  const values: Json[] = /^\{"kind":"Event"|^\{"apiVersion":"v1","kind":"Event"/.test(content)
    ? content.split('\n').flatMap((line): Json[] => (line.trim() === '' ? [] : [JSON.parse(line)]))
    : [JSON.parse(content)];
  return values.flatMap((value) => {
    const items = at(value, 'items');
    return Array.isArray(items) ? (items as Json[]) : [value];
  });
}

function reportedIn(event: Json): { event: ReportedEvent; isIncident: boolean }[] {
  const message = at(event, 'message');
  const [first = NaN, last = NaN] = ['firstTimestamp', 'lastTimestamp'].map((name) =>
    Date.parse(String(at(event, name))),
  );
  if (typeof message !== 'string' || Number.isNaN(first) || Number.isNaN(last)) return [];
  const reason = shortened(at(event, 'reason'));
  // The message of a martian packet has a code, too.
  const isIncident = reason !== 'PacketDrop' && code.test(message);
  const writers = [at(event, 'reportingComponent'), at(event, 'source', 'component')];
  if (!isIncident && !writers.includes(component)) return [];
  const [kind, namespace, name] = ['kind', 'namespace', 'name'].map((key) =>
    shortened(at(event, 'involvedObject', key)),
  );
  const object = `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`;
  const count = at(event, 'count');
  return [
    { event: { reason, object, message, count: typeof count === 'number' ? count : 1, first, last }, isIncident },
  ];
}

function shortened(value: Json): string {
  return text(value)?.slice(0, 256) ?? '';
}
