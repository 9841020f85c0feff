/** `kubectl drops why POD`: shows the rules that deny the latest lost packets of a Pod. */
import { canonicalAddress } from '../../base/platform/address.ts';
import { isLabel, isSubdomain } from '../../base/platform/api-names.ts';
import { at, type Json, list, text } from '../../base/platform/json.ts';
import type { DropsOptions } from '../options/drops-options.ts';
import type { NamedEnd, WhyOptions } from '../options/why-options.ts';
import type { Streams } from '../terminal.ts';
import { why } from '../why/why.ts';
import { type Cluster, connectAsUser, listDrops, apiPath } from './events.ts';
import { withStatus, annotationsIn } from './drops.ts';

const mostConnections = 5;

/**
 * Resolves to the worst exit status of `why`: an error (2) wins over denied (1), denied over unknown (3), and unknown over admitted (0).
 * Without a connection: 3, or 2 if there is no such Pod.
 */
export async function whyPod(
  options: DropsOptions,
  program: string,
  streams: Pick<Streams, 'out' | 'err'>,
): Promise<number> {
  return await withStatus(program, streams, async () => {
    const cluster = connectAsUser(options);
    const { events } = await listDrops({ ...cluster, options });
    const name = options.target.kind === 'all' ? '' : options.target.name;
    const connections = new Map<string, Connection>();
    for (const event of events.toReversed()) {
      const found = connectionOf(event);
      if (found !== undefined && connections.size < mostConnections) connections.set(JSON.stringify(found), found);
    }
    if (connections.size === 0) {
      const isGone = events.length === 0 && !(await isThere(cluster, name));
      const reason = isGone
        ? `there is no such Pod ${cluster.namespace === undefined ? 'in this cluster' : `in Namespace ${cluster.namespace}`}, and no Event of the last hour of one`
        : events.length === 0
          ? 'no Event of the last hour is about a packet that this Pod lost'
          : 'no Event names a connection';
      streams.err(`${program}: ${name}: ${reason}. Of any connection: ${program} --from END --to END --port PORT\n`);
      return isGone ? 2 : 3;
    }
    const statuses: number[] = [];
    for (const connection of connections.values()) {
      if (statuses.length > 0) streams.out('\n');
      const asked: WhyOptions = {
        ...connection,
        exact: true,
        files: [],
        kubeconfig: undefined,
        access: cluster.access,
        output: 'text',
      };
      statuses.push(await why(asked, streams));
    }
    if (statuses.every((status) => status === 0))
      streams.out(`\n${conclusion}  ${program.replace(/ why$/, '')} ${name} -o wide\n`);
    return [2, 1, 3].find((status) => statuses.includes(status)) ?? 0;
  });
}

const conclusion = `No policy explains these drops now. What remains:
  - a policy that was changed or removed since: the Event may name the one that denied
  - a firewall on that node (firewalld, ufw, own rules), or in the network
  - rules of the network plug-in that are not up to date on the node
  - a connection that conntrack does not know (any more)
The Events, with LOG prefix and node:
`;

/** A Pod that may not be read counts as existing. */
async function isThere({ connection, namespace }: Cluster, name: string): Promise<boolean> {
  const answer =
    namespace === undefined
      ? await connection.request('GET', '/api/v1/pods', { query: { fieldSelector: `metadata.name=${name}` } })
      : await connection.request('GET', `${apiPath('/api/v1', namespace, 'pods')}/${name}`);
  if (answer.kind === 'refused') return answer.status !== 404;
  return namespace !== undefined || list(at(answer.body, 'items')).length > 0;
}

type Connection = Pick<WhyOptions, 'from' | 'to' | 'port' | 'protocol'>;

/** Returns undefined if the Event is about an answer, an ICMP error, a scan, or a protocol other than TCP, UDP, SCTP and ICMP. */
function connectionOf(event: Json): Connection | undefined {
  const of = annotationsIn(event);
  const own = podEnd(at(event, 'involvedObject'));
  const [, address] = /^(?:external|unknown)\/(.*)$/.exec(of('peer') ?? '') ?? [];
  const peer = podEnd(at(event, 'related')) ?? addressOf(of('peer-address') ?? address);
  const what = serviceOf(of('protocol'), of('port'));
  if (own === undefined || peer === undefined || what === undefined || of('packet') !== undefined) return undefined;
  return of('direction') === 'sending' ? { from: own, to: peer, ...what } : { from: peer, to: own, ...what };
}

function serviceOf(protocol = '', port = ''): Pick<Connection, 'port' | 'protocol'> | undefined {
  // `why` knows only ICMP, and takes it for ICMPv6 between addresses of IPv6.
  if (protocol === 'ICMP' || protocol === 'ICMPv6') return { port: undefined, protocol: 'ICMP' };
  const isService = /^(?:TCP|UDP|SCTP)$/.test(protocol) && /^\d{1,5}$/.test(port);
  return isService ? { port: Number(port), protocol } : undefined;
}

function podEnd(reference: Json): NamedEnd | undefined {
  const [namespace = '', name = ''] = [text(at(reference, 'namespace')), text(at(reference, 'name'))];
  if (at(reference, 'kind') !== 'Pod' || !isLabel(namespace) || !isSubdomain(name)) return undefined;
  return { kind: 'pod', namespace, name };
}

function addressOf(given: string | undefined): NamedEnd | undefined {
  const address = canonicalAddress(given ?? '');
  return address === '' ? undefined : { kind: 'address', address };
}
