/** Reads Events that `replay` or kubectl has printed as JSON. */
import { readFileSync } from 'node:fs';
import { reasonOf } from '../../platform/system-error.ts';
import type { Bounded, ReportedEvent } from '../model.ts';

const most = 200;

/** The largest file. kubectl prints two kilobytes for each Event, so a larger file is not a list of Events. */
const largest = 256 * 1024 * 1024;

interface EventLike {
  reason?: unknown;
  message?: unknown;
  count?: unknown;
  firstTimestamp?: unknown;
  lastTimestamp?: unknown;
  reportingComponent?: unknown;
  source?: { component?: unknown };
  involvedObject?: { kind?: unknown; namespace?: unknown; name?: unknown };
}

const component = 'kube-netfilter-tailer';

/** Matches the end of an incident's message: `[KN102]`, or `[KN101, KN102]` with a diagnosis. */
const code = /\[KN\d{3}(?:, KN\d{3})?\]/;

export interface ReportedEvents {
  incidents: Bounded<ReportedEvent>;
  /** Events about packets. */
  events: Bounded<ReportedEvent>;
  problems: string[];
}

export function readEvents(files: readonly string[]): ReportedEvents {
  const found: { event: ReportedEvent; isIncident: boolean }[] = [];
  const problems: string[] = [];
  for (const file of files) {
    try {
      const text = readFileSync(file, 'utf8');
      if (text.length > largest) throw new Error('is larger than 256 MiB');
      found.push(...eventsIn(text).flatMap(reportedIn));
    } catch (error) {
      problems.push(`${file}: ${error instanceof SyntaxError ? 'is no JSON of Events' : reasonOf(error)}`);
    }
  }
  const of = (incidents: boolean): Bounded<ReportedEvent> => {
    const sorted = found
      .flatMap(({ event, isIncident }) => (isIncident === incidents ? [event] : []))
      .toSorted((a, b) => a.first - b.first);
    return { top: sorted.slice(0, most), more: Math.max(0, sorted.length - most) };
  };
  return { incidents: of(true), events: of(false), problems };
}

/** Reads one Event a line, or a list of Events. */
function eventsIn(text: string): EventLike[] {
  const values: unknown[] = /^\{"kind":"Event"|^\{"apiVersion":"v1","kind":"Event"/.test(text)
    ? text.split('\n').flatMap((line): unknown[] => (line.trim() === '' ? [] : [JSON.parse(line)]))
    : [JSON.parse(text)];
  return values.flatMap((value) => {
    const items = (value as { items?: unknown } | null)?.items;
    return (Array.isArray(items) ? items : [value]).filter((each) => typeof each === 'object' && each !== null);
  }) as EventLike[];
}

function reportedIn(event: EventLike): { event: ReportedEvent; isIncident: boolean }[] {
  const { reason, message, count, firstTimestamp, lastTimestamp, involvedObject, reportingComponent, source } = event;
  const [first, last] = [firstTimestamp, lastTimestamp].map((time) => Date.parse(String(time))) as [number, number];
  if (typeof message !== 'string' || Number.isNaN(first) || Number.isNaN(last)) return [];
  // The message of a martian packet has a code, too.
  const isIncident = reason !== 'PacketDrop' && code.test(message);
  if (!isIncident && reportingComponent !== component && source?.component !== component) return [];
  const { kind, namespace, name } = involvedObject ?? {};
  const object = `${textOf(kind)} ${textOf(namespace) === '' ? '' : `${textOf(namespace)}/`}${textOf(name)}`;
  const reported = {
    reason: textOf(reason),
    object,
    message,
    count: typeof count === 'number' ? count : 1,
    first,
    last,
  };
  return [{ event: reported, isIncident }];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 256) : '';
}
