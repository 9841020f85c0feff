import { styleText } from 'node:util';
import { dump } from 'js-yaml';
import type { Millis } from '../../base/model/log-line.ts';
import { printable } from '../../base/platform/printable.ts';
import { jsonText } from '../terminal.ts';
import { humanDuration } from '../../base/platform/duration.ts';
import { alignColumns, describeEvents } from '../describe.ts';
import type { CoreEvent, WriteRequest } from '../../publish/events/events.ts';
import type { ClusterObjects, Pod } from '../../explain/resolving/resolving.ts';
import type { ReplayOptions } from '../options/replay-options.ts';

/** Returns the time to which the printed ages refer; undefined if no ages were printed. */
export function writeResult(
  options: ReplayOptions,
  objects: ClusterObjects,
  events: readonly CoreEvent[],
  writes: readonly WriteRequest[],
  out: (text: string) => void,
): Millis | undefined {
  if (options.writes) {
    for (const write of writes.toSorted((a, b) => a.time - b.time))
      out(options.output === 'json' ? jsonText(write) : writeLine(write));
    return undefined;
  }
  const now =
    options.now ?? events.reduce((latest, { lastTimestamp }) => Math.max(latest, Date.parse(lastTimestamp)), 0);
  switch (options.output) {
    case 'json':
      for (const event of events) out(jsonText(event));
      return undefined;
    case 'yaml':
      writeYaml(events, out);
      return undefined;
    case 'table':
      writeTable(options, objects, { events, now }, out);
      break;
    case 'wide':
      if (events.length > 0) out(wideTable(events, now));
      break;
    default:
      return undefined;
  }
  return events.length > 0 ? now : undefined;
}

function writeTable(
  { color }: Pick<ReplayOptions, 'color'>,
  objects: ClusterObjects,
  { events, now }: { events: readonly CoreEvent[]; now: Millis },
  out: (text: string) => void,
): void {
  const pods = new Map(objects.pods.map((pod) => [`${pod.namespace}/${pod.name}`, pod]));
  const groups = Map.groupBy(
    events,
    ({ involvedObject: { kind, namespace = '', name } }) => `${kind} ${namespace}/${name}`,
  );
  for (const [, group] of [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const { involvedObject: regarding } = group[0] as CoreEvent;
    const head = headOf(regarding, pods.get(`${regarding.namespace}/${regarding.name}`));
    const text = `${head}${describeEvents(group, now)}\n`;
    out(painted(text, color));
  }
}

function painted(text: string, color: ReplayOptions['color']): string {
  if (color === 'never') return text;
  const how = color === 'always' ? { validateStream: false } : { stream: process.stdout };
  return text
    .replace(/^Name: .*$/m, (line) => styleText('bold', line, how))
    .replaceAll(/^  Warning(?= )/gm, (word) => styleText('yellow', word, how));
}

/** Makes a table with the columns of `kubectl get events -A -o wide`, without SUBOBJECT. The message is last, because it is the longest. */
function wideTable(events: readonly CoreEvent[], now: Millis): string {
  const age = (stamp: string): string => humanDuration(now - Date.parse(stamp));
  const rows = events
    .toSorted((a, b) => Date.parse(a.lastTimestamp) - Date.parse(b.lastTimestamp))
    .map(({ metadata, involvedObject: { kind, name }, source, count, type, reason, message, ...at }) => [
      metadata.namespace,
      age(at.lastTimestamp),
      type,
      reason,
      `${kind.toLowerCase()}/${name}`,
      source.host === undefined ? source.component : `${source.component}, ${source.host}`,
      age(at.firstTimestamp),
      String(count),
      metadata.name,
      message,
    ]);
  const head = 'NAMESPACE|LAST SEEN|TYPE|REASON|OBJECT|SOURCE|FIRST SEEN|COUNT|NAME|MESSAGE'.split('|');
  return `${alignColumns([head, ...rows].map((row) => row.map(printable))).join('\n')}\n`;
}

/** Each Event is made into text by itself, so that memory holds one of them. */
function writeYaml(events: readonly CoreEvent[], out: (text: string) => void): void {
  out(`apiVersion: v1\nkind: List\nitems:${events.length === 0 ? ' []' : ''}\n`);
  for (const event of events) {
    const text = dump([event], { lineWidth: -1, noRefs: true });
    out(
      text
        .replaceAll(/^(?=.)/gm, '  ')
        .split('\n')
        .map(printable)
        .join('\n'),
    );
  }
}

/** The lines have the layout of `kubectl describe`. */
function headOf({ kind, namespace, name }: CoreEvent['involvedObject'], pod: Pod | undefined): string {
  const rows: [string, string | undefined][] = [
    ['Name', name],
    ['Namespace', namespace],
    ['Kind', kind === 'Pod' ? undefined : kind],
  ];
  if (pod) {
    const owner = pod.workload && `${pod.workload.kind}/${pod.workload.name}`;
    rows.push(['Node', pod.node], ['IPs', pod.addresses.join(', ')], ['Workload', owner]);
  }
  return rows
    .map(([key, value]) => (value === undefined ? '' : `${`${key}:`.padEnd(14)}${printable(value)}\n`))
    .join('');
}

/** Returns `2026-01-31T09:15:01.204Z  create  shop/web-0.1f…  Pod shop/web-0  x1  PacketDrop  message`. */
function writeLine({ time, verb, event }: WriteRequest): string {
  const { namespace = event.metadata.namespace, name } = event.involvedObject;
  const { metadata, involvedObject, count, reason, message } = event;
  const text = `${new Date(time).toISOString()}  ${verb}  ${metadata.namespace}/${metadata.name}  ${involvedObject.kind} ${namespace}/${name}  x${count}  ${reason}  ${message}`;
  return `${printable(text)}\n`;
}
