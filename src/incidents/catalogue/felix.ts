import type { ProgramRecord } from '../../model/program-record.ts';
import type { CauseRow } from './cause.ts';
import {
  find,
  iptablesFailure,
  iptablesNeedles,
  nftablesFailure,
  nftablesNeedles,
  quoteOf,
  startsWithAny,
  textOf,
} from './record-text.ts';
import { onlyFamily, podArguments, subjects, unreachable } from './texts.ts';

/** The interval at which felix checks its tables: 180 s, in older releases 90 s (iptablesRefreshInterval). */
const refreshEvery = 180_000;

const givesUp =
  /^(?:Failed to program (?:iptables|nftables), (?:loading diags before panic|giving up after retries)|(?:ip6?tables(?:-legacy|-nft)?-save|nftables) command failed after retries|Failed to update IP sets after multiple retries)/;

export const felixGivesUp: CauseRow = {
  code: 'KN202',
  name: 'felix-gives-up',
  title: 'felix gives up and restarts',
  reason: 'FelixGivesUp',
  overReason: 'FelixWorksAgain',
  retryInterval: refreshEvery,
  endsWithSync: true,
  programs: ['felix'],
  needles: ['Failed to program ', 'command failed after retries', 'Failed to update IP sets after multiple retries'],
  match: (record) => (givesUp.test(record.message) ? { subject: record.fields['table'] } : undefined),
  what: (details, node) =>
    `calico-node cannot program network policy on ${node}${onlyFamily(details)}: felix gave up after its retries and restarts.`,
  why: (details) =>
    `What it wants to write${subjects(details) !== '' ? ` (table ${subjects(details)})` : ''} is refused each time; the reason stands in the lines before.`,
  fix: (details) =>
    `Read kubectl logs ${podArguments(details, 'calico-system')} -c calico-node | grep -B20 PANIC. ` +
    'Then look at the backend (iptables -V on the host, FelixConfiguration iptablesBackend), missing modules (dmesg), and foreign nft rules.',
  impact: unreachable,
};

const ipsets = [
  'Failed to complete ipset restore',
  'Failed to resync with dataplane',
  'Failed to update IP sets. Marking',
];

export const felixRestoreFailed: CauseRow = {
  code: 'KN201',
  name: 'felix-restore-failed',
  title: "felix's rules are refused",
  reason: 'FelixRestoreFailed',
  overReason: 'FelixRestoreSucceeded',
  retryInterval: refreshEvery,
  endsWithSync: true,
  isConsequence: true,
  programs: ['felix'],
  needles: [...iptablesNeedles, ...nftablesNeedles, ...ipsets],
  match(record) {
    const text = iptablesFailure(record) ?? nftablesFailure(record);
    if (text !== undefined) {
      const quote = quoteOf(record.error, / \((?:legacy|nf_tables)\): |Error: | failed \(/);
      return { subject: record.fields['table'], quote };
    }
    return startsWithAny(record.message, ipsets) ? { subject: 'IP sets' } : undefined;
  },
  what: (details, node) =>
    `calico-node cannot write its rules on ${node}${onlyFamily(details)}: policy and new Pods there wait.${subjects(details) !== '' ? ` Refused: ${subjects(details)}.` : ''}`,
  why: () =>
    'The kernel or the tool refuses what felix hands over; it tries again, and after about ten times it restarts.',
  fix: (details) =>
    `Read the errorOutput in kubectl logs ${podArguments(details, 'calico-system')} -c calico-node. ` +
    'Compare iptables -V on the host with FelixConfiguration iptablesBackend (Auto, Legacy, NFT); look at dmesg for missing modules.',
  impact: unreachable,
};

/** iptables-nft-save 1.8.9 exits with 3 (VERSION_PROBLEM) if it cannot parse a rule. felix does not log the output. */
const cannotParse = (record: ProgramRecord): boolean =>
  /^ip6?tables-nft-save command failed$/.test(record.message) && /^exit status 3\b/.test(record.error);

export const foreignNftRules: CauseRow = {
  code: 'KN203',
  name: 'felix-foreign-nft-rules',
  title: 'Foreign nft rules in the tables of iptables',
  reason: 'ForeignNftRules',
  overReason: 'ForeignNftRulesGone',
  retryInterval: refreshEvery,
  programs: ['felix'],
  needles: iptablesNeedles,
  match: (record) => {
    const found = find(iptablesFailure(record), [
      /incompatible nft rules in the table/,
      /table [`'‘]\w+['’] is incompatible, use 'nft' tool/,
    ]);
    if (found === undefined && !cannotParse(record)) return undefined;
    return { subject: record.fields['table'], quote: found?.quote };
  },
  what: (details, node) =>
    `calico-node cannot read the table ${subjects(details) || 'of its rules'} on ${node}: there are nft rules in it that iptables does not understand.`,
  why: () => 'Another program writes with nft into the tables filter, nat or mangle that iptables-nft shares.',
  fix: () =>
    'Find them: nft list table ip filter (also nat, mangle, and ip6). Move them into a table of their own (nft add table inet NAME), or let Calico use nft as well: FelixConfiguration nftablesMode: Enabled, or with the Tigera operator linuxDataplane: Nftables of the Installation.',
  impact: unreachable,
};

const overwritten = [
  'Detected out-of-sync inserts',
  'Detected out-of-sync Calico chain',
  'Chain had unexpected inserts',
];

/** felix itself deletes rules that it logs with this text, not a hash (felix/iptables/table.go); with eBPF also kube-proxy's jumps (KN101). */
const isCleanup = ({ fields }: ProgramRecord): boolean =>
  fields['actualRuleIDs']?.includes('"OLD INSERT RULE"') === true;

export const rulesOverwritten: CauseRow = {
  code: 'KN204',
  name: 'felix-rules-overwritten',
  title: "Another program overwrites Calico's rules",
  reason: 'FelixRulesOverwritten',
  overReason: 'FelixRulesKept',
  retryInterval: refreshEvery,
  neverFatal: true,
  confirmedByFirewallDrops: true,
  programs: ['felix'],
  needles: overwritten,
  match: (record) =>
    startsWithAny(record.message, overwritten) && !isCleanup(record)
      ? { subject: record.fields['chainName'] ?? record.fields['chain'], quote: record.message }
      : undefined,
  what: (details, node) =>
    `Another program keeps changing Calico's rules on ${node} (${subjects(details) || 'chain unknown'}); calico-node puts them back each time.`,
  why: () =>
    'Until they are back, traffic of Pods may be dropped, or pass without policy. Once is a reload; again and again is a fight with another writer.',
  fix: () =>
    "Look for what writes at that rhythm: systemctl status firewalld ufw docker, cron jobs with iptables-restore, a second CNI plugin, keepalived. Let it leave Calico's chains (cali-…) first, or turn it off on nodes.",
};

const dummies = [
  'Profile not known or invalid, generating dummy profile',
  'End of resync: local endpoints refer to missing or invalid profile',
];

export const dummyProfile: CauseRow = {
  code: 'KN206',
  name: 'felix-dummy-profile',
  title: 'A profile is missing: its Pods are cut off',
  reason: 'FelixProfileMissing',
  overReason: 'FelixProfileFound',
  retryInterval: 300_000,
  neverFatal: true,
  programs: ['felix'],
  needles: dummies,
  match: (record) =>
    startsWithAny(record.message, dummies)
      ? { subject: record.fields['profileID']?.replace(/^"|"$/g, ''), quote: record.message }
      : undefined,
  what: (details, node) =>
    `calico-node drops all traffic of the Pods on ${node} whose profile it does not know: ${subjects(details) || 'name unknown'}.`,
  why: () =>
    'The profile kns.NAME stands for the namespace NAME. It was not in what Typha or the API sent, or it was no valid profile.',
  fix: () =>
    'Look whether the namespace exists, then: calicoctl get profile -o wide; kubectl -n calico-system logs deploy/calico-typha. Restarting calico-node on the node makes it read all again.',
};

/** Messages that show the failure by themselves [felix/daemon, libcalico-go, typha/pkg/syncclient, node/pkg/lifecycle/startup]. */
const alone = [
  'Failed to connect to Typha',
  'Failed to connect to typha endpoint',
  'Failed to (re)connect to datastore',
  'Connection to datastore has failed',
  'Connection to the datastore is unauthorized',
  'API server refused connection',
  'Unable to access datastore to query node configuration',
  'Timed out waiting for connection to be restored',
];

/** Messages that count only with a network error, because the API may also have answered with a refusal. */
const withNetworkError = [
  'Error getting cluster information config',
  'Failed to get config from datastore',
  'Failed to create datastore client',
  'Hit error connecting to datastore',
  'Failed to perform list of current data during resync',
  'Failed to create watcher',
];

const networkError =
  /\bdial tcp |connection refused|no route to host|network is unreachable|i\/o timeout|TLS handshake timeout|context deadline exceeded|Client\.Timeout exceeded|x509: |connection reset by peer|no such host/;

export const apiUnreachable: CauseRow = {
  code: 'KN207',
  name: 'calico-api-unreachable',
  title: 'The API or Typha is out of reach for Calico',
  reason: 'CalicoApiUnreachable',
  overReason: 'CalicoApiReachable',
  retryInterval: 60_000,
  programs: ['felix', 'confd', 'calico-node', 'unknown'],
  needles: [...alone, ...withNetworkError],
  infoOpenings: ['Hit error connecting to datastore', 'Failed to perform list of current data'],
  match(record) {
    // An unknown program must at least name its source file in the way that Calico's programs do.
    if (record.program === 'unknown' && !record.caller.includes('/')) return undefined;
    const isAlone = startsWithAny(record.message, alone);
    if (!isAlone && !startsWithAny(record.message, withNetworkError)) return undefined;
    const text = textOf(record);
    const quote = quoteOf(text, networkError);
    if (quote === undefined && !isAlone) return undefined;
    return {
      subject: /\bdial tcp (\[[\da-fA-F:]{2,45}\]:\d{1,5}|[\d.]{7,15}:\d{1,5})/.exec(text)?.[1],
      quote,
    };
  },
  what: (details, node) =>
    `Calico on ${node} cannot reach the Kubernetes API or Typha${subjects(details) !== '' ? ` at ${subjects(details)}` : ''}: changes of policies and Pods do not arrive.`,
  why(details) {
    if (/x509|unauthorized/i.test(details.quote))
      return 'It gets an answer and does not trust it, or is not trusted: certificates or tokens have expired.';
    return details.facts.kubeProxyHere === false
      ? 'No kube-proxy runs on this node, so the address of the Service kubernetes leads nowhere unless eBPF is on and KUBERNETES_SERVICE_HOST names the real API server.'
      : 'Mostly kube-proxy has not yet, or no longer, made the rules for the Service kubernetes; else routes, a firewall, or the API server itself.';
  },
  fix: () =>
    'On the node: curl -k https://ADDRESS:PORT/healthz for the address above, then for the API server itself. If only the Service address fails, look at kube-proxy on this node first. For Typha: kubectl -n calico-system get endpoints calico-typha; TCP 5473 must be open.',
};
