/** Incidents of Events that `replay` or kubectl has printed as JSON. */
import { readFileSync } from 'node:fs';
import { reasonOf } from '../../platform/system-error.ts';
import type { Bounded, Incident } from '../model.ts';

const mostIncidents = 200;

/** Larger files are no lists of Events: kubectl prints some two kilobytes for each. */
const largest = 256 * 1024 * 1024;

interface EventLike {
  reason?: unknown;
  message?: unknown;
  count?: unknown;
  firstTimestamp?: unknown;
  lastTimestamp?: unknown;
  involvedObject?: { kind?: unknown; namespace?: unknown; name?: unknown };
}

/** The code of its cause, which every incident has. */
const code = /\[KN\d{3}\]/;

export function readIncidents(files: readonly string[]): { found: Bounded<Incident>; problems: string[] } {
  const found: Incident[] = [];
  const problems: string[] = [];
  for (const file of files) {
    try {
      const text = readFileSync(file, 'utf8');
      if (text.length > largest) throw new Error('is larger than 256 MiB');
      found.push(...eventsIn(text).flatMap(incidentOf));
    } catch (error) {
      problems.push(`${file}: ${error instanceof SyntaxError ? 'is no JSON of Events' : reasonOf(error)}`);
    }
  }
  const sorted = found.toSorted((a, b) => a.first - b.first);
  return { found: { top: sorted.slice(0, mostIncidents), more: Math.max(0, sorted.length - mostIncidents) }, problems };
}

/** One Event a line, or a list. */
function eventsIn(text: string): EventLike[] {
  const values: unknown[] = /^\{"kind":"Event"|^\{"apiVersion":"v1","kind":"Event"/.test(text)
    ? text.split('\n').flatMap((line): unknown[] => (line.trim() === '' ? [] : [JSON.parse(line)]))
    : [JSON.parse(text)];
  return values.flatMap((value) => {
    const items = (value as { items?: unknown } | null)?.items;
    return (Array.isArray(items) ? items : [value]).filter((each) => typeof each === 'object' && each !== null);
  }) as EventLike[];
}

function incidentOf({ reason, message, count, firstTimestamp, lastTimestamp, involvedObject }: EventLike): Incident[] {
  const [first, last] = [firstTimestamp, lastTimestamp].map((time) => Date.parse(String(time))) as [number, number];
  if (typeof message !== 'string' || !code.test(message) || Number.isNaN(first) || Number.isNaN(last)) return [];
  const { kind, namespace, name } = involvedObject ?? {};
  const object = `${textOf(kind)} ${textOf(namespace) === '' ? '' : `${textOf(namespace)}/`}${textOf(name)}`;
  return [{ reason: textOf(reason), object, message, count: typeof count === 'number' ? count : 1, first, last }];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 256) : '';
}
