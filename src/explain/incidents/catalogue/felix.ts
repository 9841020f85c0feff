import type { ProgramRecord } from '../../../base/model/program-record.ts';
import type { CauseRow } from './cause.ts';
import {
  iptablesFailure,
  iptablesNeedles,
  nftablesFailure,
  nftablesNeedles,
  quoteOf,
  startsWithAny,
} from './record-text.ts';
import { onlyFamily, podArguments, subjects, unreachable } from './texts.ts';

/** The interval at which felix checks its tables: 180 s, in older releases 90 s (iptablesRefreshInterval). */
const refreshEvery = 180_000;

const givesUp =
  /^(?:Failed to program (?:iptables|nftables), (?:loading diags before panic|giving up after retries)|(?:ip6?tables(?:-legacy|-nft)?-save|nftables) command failed after retries|Failed to update IP sets after multiple retries)/;

/** felix logs no reason for it. */
const noLegacy = /^ip6?tables-legacy-save command failed/;

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
    noLegacy.test(details.quote)
      ? 'iptables-legacy-save fails each time: mostly the kernel has no legacy iptables, as those of RHEL 10, Talos and Alpine 3.23. With iptablesBackend: Auto felix takes legacy where nf_tables is not loaded.'
      : `What it wants to write${subjects(details) !== '' ? ` (table ${subjects(details)})` : ''} is refused each time; the reason is in the lines before.`,
  fix: (details) =>
    noLegacy.test(details.quote)
      ? 'On the node: modprobe -a nf_tables nft_compat. Then FelixConfiguration iptablesBackend: NFT, or nftables: nftablesMode: Enabled (Tigera operator: linuxDataplane: Nftables of the Installation).'
      : `Read kubectl logs ${podArguments(details, 'calico-system')} -c calico-node | grep -B20 PANIC. ` +
        'Then look at the backend (iptables -V on the host, FelixConfiguration iptablesBackend), missing modules (dmesg), and foreign nft rules.',
  impact: unreachable,
};

const ipsets = [
  'Failed to complete ipset restore',
  'Failed to resync with dataplane',
  'Failed to update IP sets. Marking',
  'Failed to update IP sets. Will do ',
  'Persistently failed to update IP sets',
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
  why: (details) =>
    noLegacy.test(details.quote)
      ? felixGivesUp.why(details, '')
      : 'The kernel or the tool refuses what felix hands over; it tries again, and after about ten times it restarts.',
  fix: (details) =>
    noLegacy.test(details.quote)
      ? felixGivesUp.fix(details, '')
      : `Read the errorOutput in kubectl logs ${podArguments(details, 'calico-system')} -c calico-node. ` +
        'Compare iptables -V on the host with FelixConfiguration iptablesBackend (Auto, Legacy, NFT); look at dmesg for missing modules.',
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
    'The profile kns.NAME stands for the namespace NAME. Typha or the API did not send it, or it was not valid.',
  fix: () =>
    'Check whether the namespace exists, then: calicoctl get profile -o wide; kubectl -n calico-system logs deploy/calico-typha. Restarting calico-node on the node makes it read all profiles again.',
};
