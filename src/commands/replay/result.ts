/** Prints what `replay` was asked for: Events, writes, or nothing beside audit rows. */
import type { Millis } from '../../model/log-line.ts';
import { printable, printableJson } from '../../platform/printable.ts';
import { describeEvents } from '../../events/describe.ts';
import type { CoreEvent } from '../../events/event.ts';
import type { Write } from '../../events/recorder.ts';
import type { ClusterObjects, Pod } from '../../resolving/objects.ts';
import type { ReplayOptions } from '../options/replay-options.ts';

/** Prints what was asked for. Returns the time that ages were counted from, if any were shown. */
export function writeResult(
  options: ReplayOptions,
  objects: ClusterObjects,
  events: CoreEvent[],
  writes: Write[],
  out: (text: string) => void,
): Millis | undefined {
  if (options.writes) {
    for (const write of writes.toSorted((a, b) => a.time - b.time))
      out(options.output === 'json' ? jsonLine(write) : writeLine(write));
    return undefined;
  }
  if (options.output === 'audit') return undefined;
  if (options.output === 'json') {
    for (const event of events) out(jsonLine(event));
    return undefined;
  }
  const now =
    options.now ?? events.reduce((latest, { lastTimestamp }) => Math.max(latest, Date.parse(lastTimestamp)), 0);
  const pods = new Map(objects.pods.map((pod) => [`${pod.namespace}/${pod.name}`, pod]));
  const groups = Map.groupBy(
    events,
    ({ involvedObject: { kind, namespace = '', name } }) => `${kind} ${namespace}/${name}`,
  );
  for (const [, group] of [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const { involvedObject: object } = group[0] as CoreEvent;
    out(`${headOf(object, pods.get(`${object.namespace}/${object.name}`))}${describeEvents(group, now)}\n`);
  }
  return events.length > 0 ? now : undefined;
}

/** The lines of `kubectl describe` that identify the object. */
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

function jsonLine(value: CoreEvent | Write): string {
  return `${printableJson(JSON.stringify(value))}\n`;
}

/** `09:15:01.204  create  shop/web-… x1  PacketDrop  message`. */
function writeLine({ time, verb, event }: Write): string {
  const { namespace = event.metadata.namespace, name } = event.involvedObject;
  const { metadata, involvedObject, count, reason, message } = event;
  const text = `${new Date(time).toISOString()}  ${verb}  ${metadata.namespace}/${metadata.name}  ${involvedObject.kind} ${namespace}/${name}  x${count}  ${reason}  ${message}`;
  return `${printable(text)}\n`;
}
