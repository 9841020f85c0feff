/** `kubectl drops why POD`: the rules that deny what a Pod lost last. */
import { canonicalAddress } from '../../platform/address.ts';
import { isLabel, isSubdomain } from '../../platform/api-names.ts';
import { at, type Json, text } from '../../platform/json.ts';
import { readUserAccess } from '../../kubernetes/kubeconfig.ts';
import type { DropsOptions } from '../options/drops-options.ts';
import type { NamedEnd, WhyOptions } from '../options/why-options.ts';
import type { Streams } from '../streams.ts';
import { why } from '../why/why.ts';
import { connectAsUser } from './cluster.ts';
import { withStatus } from './drops.ts';
import { listDrops } from './events.ts';
import { readDrop } from './read-event.ts';

/** Connections that are looked at, the newest first. */
const most = 5;

/** Resolves to the exit status of `why`: denied before unknown before admitted. */
export async function whyPod(
  options: DropsOptions,
  program: string,
  streams: Pick<Streams, 'out' | 'err'>,
): Promise<number> {
  return await withStatus(program, streams, async () => {
    const cluster = connectAsUser(options);
    const { events } = await listDrops(cluster, options, undefined);
    const connections = new Map<string, Connection>();
    for (const event of events.toReversed()) {
      const found = connectionOf(event);
      if (found !== undefined && connections.size < most) connections.set(JSON.stringify(found), found);
    }
    if (connections.size === 0) {
      const reason = events.length === 0 ? 'no Event tells of a packet that it lost' : 'no Event names a connection';
      const name = options.target.kind === 'all' ? '' : options.target.name;
      streams.err(`${program}: ${name}: ${reason}. Of any connection: ${program} --from END --to END --port PORT\n`);
      return 3;
    }
    const statuses: number[] = [];
    const access = readUserAccess(options.flags);
    for (const connection of connections.values()) {
      if (statuses.length > 0) streams.out('\n');
      const asked: WhyOptions = { ...connection, files: [], kubeconfig: undefined, load: () => access, output: 'text' };
      statuses.push(await why(asked, streams));
    }
    return [2, 1, 3].find((status) => statuses.includes(status)) ?? 0;
  });
}

type Connection = Pick<WhyOptions, 'from' | 'to' | 'port' | 'protocol'>;

/** Undefined where an Event is about no connection that can be opened: answers, errors, scans, protocols without ports. */
function connectionOf(event: Json): Connection | undefined {
  const drop = readDrop(event);
  const own = podOf(at(event, 'involvedObject'));
  if (drop === undefined || drop.isOther || own === undefined) return undefined;
  const peer = podOf(at(event, 'related')) ?? addressOf(drop.address) ?? addressOf(drop.peer);
  const what = drop.port?.startsWith('ICMP ')
    ? { port: undefined, protocol: 'ICMP' }
    : portOf(/^(\d{1,5})\/(TCP|UDP|SCTP)$/.exec(drop.port ?? ''));
  if (peer === undefined || what === undefined) return undefined;
  return drop.direction === 'receiving' ? { from: peer, to: own, ...what } : { from: own, to: peer, ...what };
}

function portOf(found: RegExpExecArray | null): { port: number; protocol: string } | undefined {
  return found === null ? undefined : { port: Number(found[1]), protocol: found[2] ?? '' };
}

function podOf(reference: Json): NamedEnd | undefined {
  const [namespace = '', name = ''] = [text(at(reference, 'namespace')), text(at(reference, 'name'))];
  if (at(reference, 'kind') !== 'Pod' || !isLabel(namespace) || !isSubdomain(name)) return undefined;
  return { kind: 'pod', namespace, name };
}

function addressOf(given: string | undefined): NamedEnd | undefined {
  const address = canonicalAddress(given ?? '');
  return address === '' ? undefined : { kind: 'address', address };
}
