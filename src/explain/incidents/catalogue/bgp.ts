import type { CauseRow } from './cause.ts';
import { textOfRecord } from './record-text.ts';
import { bracketed, podArguments, subjects } from './texts.ts';

/** BIRD's default hold time, after which a dead session expires. */
const holdTime = 240_000;

/** Names of sessions in Calico's configuration of BIRD: `Mesh_10_0_0_2`, `Node_10_0_0_2`, `Global_…`. */
const session = String.raw`(?:bird6?: )?((?:Mesh|Node|Global|Local_Workload)_[\w]{1,60}): `;
const holdTimer = new RegExp(`^${session}(?:Error: |Received: )?Hold timer expired`);

/** Matches the text of Calico's node/pkg/health, in a message or in the field `reason`. */
const notReady = /(?:BIRD6? is not ready|bird6?(?:\/confd)? is not live): ([^\n]{1,600})/;
/** Matches reasons that are normal while calico-node starts. */
const starting = /graceful restart in progress|failed to stat\(\) nodename file/;

export const bgpDown: CauseRow = {
  code: 'KN301',
  name: 'bgp-sessions-down',
  title: 'BGP sessions are down or BIRD does not run',
  reason: 'BgpSessionsDown',
  overReason: 'BgpSessionsUp',
  retryInterval: holdTime,
  neverFatal: true,
  programs: ['bird', 'confd', 'calico-node', 'felix', 'unknown'],
  needles: [
    'is not ready: ',
    'BGP peering established',
    'Hold timer expired',
    'Calico is not ready yet',
    'is not live: ',
  ],
  infoOpenings: ['Number of node(s) with BGP peering established = 0'],
  match(record) {
    const { message, fields } = record;
    if (record.program === 'bird') {
      const expired = holdTimer.exec(message);
      return expired === null ? undefined : { subject: peerOf(expired[1] ?? ''), quote: message };
    }
    if (/^Number of node\(s\) with BGP peering established = 0$/.test(message)) return { quote: message };
    const text =
      /^(?:calico\/node is not ready|Calico is not ready yet|BIRD6? is not ready|bird6? is not live|Readiness probe failed|Liveness probe failed)/.test(
        message,
      )
        ? `${textOfRecord(record)}\n${fields['reason'] ?? ''}`
        : '';
    const found = notReady.exec(text);
    if (found === null || starting.test(found[1] ?? '')) return undefined;
    // All peers of a line make one incident, so the first one is the subject.
    const peer = /BGP not established with ([\da-fA-F.:]{3,45})/.exec(found[1] ?? '')?.[1];
    return { subject: peer, quote: found[0] };
  },
  what: (details, node) =>
    `Pods on ${node} cannot reach Pods on ${subjects(details) === '' ? 'other nodes' : 'some other nodes'}, though all look Running: its BGP sessions are down${bracketed(details)}.`,
  why: (details) =>
    /bird6?\.ctl|is not live|is not running|unable to connect to BIRD/i.test(details.quote)
      ? 'BIRD, which exchanges the routes, does not run or does not answer on this node.'
      : 'Without BGP the routes to the Pods of other nodes go away after a while. TCP 179 is blocked, the address of the node is a wrong one, or the peers are down.',
  fix: (details) =>
    `On the node: calicoctl node status; nc -vz PEER 179; ip route | grep bird. Or kubectl exec ${podArguments(details, 'calico-system')} -c calico-node -- birdcl -s /var/run/calico/bird.ctl show protocols. ` +
    'Open TCP 179 between nodes; check IP_AUTODETECTION_METHOD.',
  impact: () => 'Pods on other nodes may not be reachable from here, nor this Pod from there.',
};

const unknown =
  /^(?:bird6?: )?(?:BGP: )?Unexpected connect from unknown address ([\da-fA-F.:]{3,45})(?:%[\w.-]{1,15})? \(port \d{1,5}\)/;

export const unknownPeer: CauseRow = {
  code: 'KN302',
  name: 'bgp-unknown-peer',
  title: 'A BGP peer comes from an unknown address',
  reason: 'BgpUnknownPeer',
  overReason: 'BgpUnknownPeerGone',
  retryInterval: 120_000,
  neverFatal: true,
  programs: ['bird'],
  needles: ['Unexpected connect from'],
  match(record) {
    const found = unknown.exec(record.message);
    return found === null ? undefined : { subject: found[1], quote: record.message };
  },
  what: (details, node) =>
    `${subjects(details) || 'An unknown address'} wants a BGP session with ${node} and is refused: Calico knows no peer of that address.`,
  why: () =>
    'The peer chose the wrong of its addresses, its packets are translated (MASQUERADE) on the way, or it was removed from the cluster and still runs.',
  fix: () =>
    'kubectl get nodes -o wide; calicoctl get nodes -o wide: is it an address of a node? Then set IP_AUTODETECTION_METHOD (for example kubernetes-internal-ip) and keep traffic between nodes out of MASQUERADE. If it is not a node, stop its BIRD.',
};

/** Returns the address in `Mesh_10_0_0_2`: `10.0.0.2`. For IPv6, returns the name, because `_` replaces `:` and a `::` is not certain. */
function peerOf(name: string): string {
  const address = name.replace(/^[A-Za-z_]+_(?=[\da-f])/, '');
  return /^\d{1,3}(?:_\d{1,3}){3}$/.test(address) ? address.replaceAll('_', '.') : name;
}
