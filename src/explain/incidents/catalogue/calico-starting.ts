import type { CauseRow } from './cause.ts';
import { defaultQuote, startsWithAny } from './record-text.ts';
import { podArguments, subjects } from './texts.ts';

/** Beginnings of messages after which calico-node ends before it starts felix [3.0 to 3.32: node/pkg/lifecycle/startup]. */
const openings = [
  "Couldn't autodetect an IPv",
  'Failed to configure IP addresses',
  'Invalid IP autodetection method: ',
  "Cannot use method 'kubernetes-internal-ip'",
  'Environment does not contain a valid IPv',
  'Failed to parse autodetected CIDR',
  'Unable to query host interfaces',
  'Unable to determine hostname',
  'Unable to set node resource configuration',
  'Unable to set global default configuration',
  'Unable to ensure network for os',
  "Unable to upgrade host's IPAM resources",
  "failed to query kubeadm's config map",
  "failed to query Rancher's cluster state config map",
  'Failed to read Node from datastore',
  "Unable to create '",
  'Invalid CIDR specified in CALICO_IPV',
  'Invalid configuration with NO_DEFAULT_POOLS',
  'Unrecognized IPIP mode specified',
  'Unrecognized VXLAN mode specified',
  'Invalid blocksize ',
  "Invalid node selector '",
  'The AS number specified in the environment',
  'Unable to fetch IP pool list',
  'Failed to create default IPv',
];

/** Another node has the address. */
const conflict = /^Calico node '([^'\n]{1,253})' is already using the IPv[46] address ([\da-fA-F.:]{3,45}?)[.:]?$/m;

export const calicoCannotStart: CauseRow = {
  code: 'KN208',
  name: 'calico-node-cannot-start',
  title: 'calico-node does not start',
  reason: 'CalicoNodeCannotStart',
  overReason: 'CalicoNodeStarted',
  retryInterval: 300_000,
  programs: ['calico-node'],
  needles: [...openings, ' is already using the IPv'],
  match(record) {
    const { message } = record;
    const used = conflict.exec(message);
    if (used !== null) return { subject: `${used[2]} of ${used[1]}`, quote: message };
    if (!startsWithAny(message, openings)) return undefined;
    const { IP, IP6 } = record.fields;
    const reason = record.error === '' ? (IP ?? IP6) : defaultQuote(record);
    return { quote: reason === undefined ? message : `${message.replace(/:$/, '')}: ${reason}` };
  },
  what: (details, node) =>
    `calico-node does not start on ${node}${subjects(details) === '' ? '' : ` (${subjects(details, 1, 80)})`}: new Pods there get no network, and rules and routes stand still.`,
  why({ quote }) {
    if (/already using|conflicting node/.test(quote))
      return 'Another node of Calico has that address: both take it from a bridge (docker0, br-…), or that node was replaced or renamed.';
    if (/autodetect|IP addresses|host interfaces/i.test(quote))
      return 'It finds no address for the node: its way of detecting it does not fit the interfaces here.';
    return 'It ends before felix starts: a variable of its container, the datastore or a folder of the node is at fault.';
  },
  fix: (details) =>
    /autodetect|IP address|conflicting node|already using|host interfaces/i.test(details.quote)
      ? 'Compare ip -br addr on the node with kubectl get nodes -o wide and calicoctl get nodes -o wide. Set IP_AUTODETECTION_METHOD of calico-node to kubernetes-internal-ip or cidr=RANGE (Tigera operator: nodeAddressAutodetectionV4 of the Installation). Delete only a node of Calico whose Node is gone.'
      : `Read kubectl logs ${podArguments(details, 'calico-system')} -c calico-node --previous: the line before "Terminating" has the reason.`,
  impact: () => 'Policy and routes do not reach this node: new Pods may have no network.',
};
