/** Reads Events that `replay` or kubectl has printed as JSON. */
import { closeSync, fstatSync, openSync } from 'node:fs';
import { at, instant, type Json, parsed, text } from '../../../base/platform/json.ts';
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
  const found: ReportEntry[] = [];
  const problems: string[] = [];
  for (const file of files) {
    try {
      let unreadable = 0;
      for (const event of eventsIn(contentOf(file))) {
        const read = reportedIn(event);
        if (read === 'unreadable') unreadable++;
        else if (read !== 'of others') found.push(read);
      }
      if (unreadable > 0)
        problems.push(`${file}: ${unreadable} ${unreadable === 1 ? 'Event' : 'Events'} cannot be read`);
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

/** Reads one Event or list of Events, or one Event a line. A line that is none is undefined. Throws a `SyntaxError` if all are. */
function eventsIn(content: string): Json[] {
  const values = valuesIn(content);
  return values.flatMap((value) => {
    const items = at(value, 'items');
    return Array.isArray(items) ? (items as Json[]) : [value];
  });
}

function valuesIn(content: string): Json[] {
  try {
    return [JSON.parse(content)];
  } catch (error) {
    const values = content.split('\n').flatMap((line) => (line.trim() === '' ? [] : [parsed(line)]));
    if (!values.some((value) => at(value, 'kind') === 'Event')) throw error;
    return values;
  }
}

type ReportEntry = { event: ReportedEvent; isIncident: boolean };

function reportedIn(event: Json): ReportEntry | 'unreadable' | 'of others' {
  const writers = [at(event, 'reportingComponent'), at(event, 'source', 'component')];
  const isOurs = writers.includes(component);
  const message = text(at(event, 'message'));
  const [first, last] = ['firstTimestamp', 'lastTimestamp'].map((name) => instant(at(event, name)));
  if (typeof event !== 'object' || event === null) return 'unreadable';
  if (message === undefined || first === undefined || last === undefined) return isOurs ? 'unreadable' : 'of others';
  const reason = shortened(at(event, 'reason'));
  // The message of a martian packet also has a code.
  const isIncident = reason !== 'PacketDrop' && code.test(message);
  if (!isIncident && !isOurs) return 'of others';
  const [kind, namespace, name] = ['kind', 'namespace', 'name'].map((key) =>
    shortened(at(event, 'involvedObject', key)),
  );
  const object = `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`;
  const given = at(event, 'count');
  const count = typeof given === 'number' && Number.isSafeInteger(given) && given > 0 ? given : 1;
  return { event: { reason, object, message, count, first, last }, isIncident };
}

function shortened(value: Json): string {
  return text(value)?.slice(0, 256) ?? '';
}
