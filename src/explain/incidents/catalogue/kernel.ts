import type { CauseRow } from './cause.ts';
import type { IncidentDetails } from '../../../base/model/incident.ts';
import { agreeing, bracketed, listText, short, subjects } from './texts.ts';

export const conntrackFull: CauseRow = {
  code: 'KN401',
  name: 'conntrack-full',
  title: 'The connection tracking table is full',
  reason: 'ConntrackTableFull',
  overReason: 'ConntrackTableHasRoom',
  asks: 'conntrack',
  matchTable(full) {
    if (full.kind !== 'conntrack-full') return undefined;
    const { netns } = full;
    const [subject, place] =
      netns === undefined ? ['the host', ''] : [`network namespace ${netns}`, ` in netns ${netns}`];
    return { family: '', subject, quote: `nf_conntrack: table full${place}, dropping packet` };
  },
  what(details, node) {
    const { conntrack, namespacePod } = details.facts;
    const whose = subjects(details) === '' ? '' : ` of ${subjects(details)}`;
    const figures = levels(conntrack);
    const fail = `fail at random on ${node}: `;
    if (isOfNamespaces(details))
      return `New connections of ${agreeing(details, 'a Pod', 'Pods')} ${fail}${agreeing(details, 'its connection tracking table', 'their connection tracking tables')} (${subjects(details)}) ${agreeing(details, 'is', 'are')} full${figures}.`;
    if (namespacePod !== undefined)
      return `New connections of a Pod ${fail}the connection tracking table of a network namespace is full, not the node's own${figures}.`;
    if (isUnsure(details))
      return `New connections ${fail}a connection tracking table is full, the node's own or that of a network namespace${figures}.`;
    return `New connections ${fail}the connection tracking table${whose} is full${figures}.`;
  },
  why({ facts: { topSources } }) {
    if (topSources.length === 0)
      return 'Each flow has an entry until it times out: clients without keep-alive, UDP floods, scans or too many Pods fill the table.';
    const named = topSources.map(
      ({ name, connections }) =>
        `${short(name, 54)}: ${Number.isFinite(connections) ? Math.max(0, Math.trunc(connections)) : 'many'}`,
    );
    return `Most entries have ${listText(named, 0, 3, 68)}.`;
  },
  fix(details) {
    const { conntrack, namespacePod } = details.facts;
    const inode = namespacePod === null ? /\d{1,10}/.exec(details.subjects[0] ?? '')?.[0] : undefined;
    if (namespacePod === null && inode === undefined)
      return 'Find the Pod: lsns -t net, then for the PID of each: nsenter -n -t PID conntrack -C shows how full its table is; reuse connections.';
    const max = asCount(conntrack?.max);
    const raise =
      (max === undefined || max === 0
        ? 'read sysctl net.netfilter.nf_conntrack_max, set twice that (-w)'
        : `sysctl -w net.netfilter.nf_conntrack_max=${2 * max}`) +
      '. To keep it: conntrack.maxPerCore and conntrack.min';
    return (
      (isUnsure(details)
        ? `If sysctl net.netfilter.nf_conntrack_count is near the limit: ${raise} of kube-proxy. `
        : `Now: ${raise} in kube-proxy's ConfigMap. `) +
      (inode === undefined
        ? "Who fills it: conntrack -L | grep -o 'src=[^ ]*' | sort | uniq -c | sort -n | tail; reuse connections."
        : `Find the Pod: lsns -t net | grep ${inode}; let it reuse connections.`)
    );
  },
  impact: (details) =>
    `${isUnsure(details) ? "If the full table is the node's own, new" : 'New'} connections from and to this Pod may fail at random.`,
};

export const conntrackNearlyFull: CauseRow = {
  code: 'KN404',
  name: 'conntrack-nearly-full',
  title: 'The connection tracking table is nearly full',
  reason: 'ConntrackTableNearlyFull',
  overReason: 'ConntrackTableBelowLimit',
  asks: 'host-conntrack',
  matchTable(report) {
    if (report.kind !== 'conntrack-high') return undefined;
    const { count, max } = report;
    return { family: '', subject: 'the host', quote: `nf_conntrack_count ${count} of nf_conntrack_max ${max}` };
  },
  what: ({ facts: { conntrack } }, node) =>
    `The connection tracking table of ${node} is nearly full${levels(conntrack)}: once it is full, new connections fail at random.`,
  why: (details, node) => conntrackFull.why(details, node),
  fix: (details, node) => conntrackFull.fix(details, node),
};

/** Returns whether it is unknown whose table is full: the kernel named no namespace, and the host's table could not be read. */
function isUnsure({ subjects: named, facts: { conntrack } }: IncidentDetails): boolean {
  return asCount(conntrack?.count) === undefined && !named.some((name) => /\d/.test(name));
}

/** Returns whether only tables of Pods' namespaces are full, and not the host's. */
function isOfNamespaces({ subjects: named }: IncidentDetails): boolean {
  return named.length > 0 && named.every((name) => /\d/.test(name));
}

function levels(conntrack: { count: number | undefined; max: number | undefined } | undefined): string {
  const [count, max] = [asCount(conntrack?.count), asCount(conntrack?.max)];
  if (max === undefined) return '';
  return count === undefined ? ` (it holds ${max})` : ` (${count} of ${max} entries)`;
}

/** Returns undefined for numbers that the kernel cannot have printed, because it counts in 31 bits. */
function asCount(number: number | undefined): number | undefined {
  return number !== undefined && number >= 0 && number < 2 ** 31 ? Math.trunc(number) : undefined;
}

export const neighbourFull: CauseRow = {
  code: 'KN402',
  name: 'neighbour-table-full',
  title: 'The ARP or neighbour table is full',
  reason: 'NeighbourTableFull',
  overReason: 'NeighbourTableHasRoom',
  asks: 'nothing',
  matchTable(full) {
    if (full.kind !== 'neighbour-overflow') return undefined;
    const { family } = full;
    return {
      family: family ?? '',
      subject: family,
      quote: `${family === undefined ? '' : `${family}: `}neighbour table overflow`,
    };
  },
  what: (details, node) =>
    `${node} cannot reach addresses that it has not used recently: its ${tables(details.families)} table is full.`,
  why: () =>
    'More neighbours (Pods, nodes and other machines of the same networks) than gc_thresh3 allows; large flat networks and scans do that.',
  fix: (details) => {
    const [only = ''] = details.families.length === 1 ? details.families : [];
    const name = only === 'IPv6' ? 'ipv6' : 'ipv4';
    return (
      `On the node, unless these are higher already: sysctl -w net.${name}.neigh.default.gc_thresh3=16384 net.${name}.neigh.default.gc_thresh2=8192 net.${name}.neigh.default.gc_thresh1=4096, ` +
      (only === '' ? 'the same for net.ipv6, ' : '') +
      'and both in /etc/sysctl.d/. To count entries: ip -s neigh | wc -l.'
    );
  },
  impact: () => 'Connections to Pods and machines that were not used recently may fail.',
};

function tables(families: readonly string[]): string {
  if (families.length !== 1) return 'neighbour';
  return families[0] === 'IPv6' ? 'neighbour (IPv6)' : families[0] === 'IPv4' ? 'ARP (IPv4)' : 'neighbour';
}

export const martianPackets: CauseRow = {
  code: 'KN403',
  name: 'martian-packets',
  title: 'Packets with impossible addresses',
  reason: 'PacketDrop',
  overReason: 'MartianPacketsGone',
  asks: 'nothing',
  what: (details, node) =>
    `The kernel of ${node} drops packets whose source cannot be where they come from${bracketed(details)}.`,
  why: () =>
    'Its routes say that the source is behind another interface: asymmetric routing, a missing route back, or a forged address.',
  fix: () =>
    'Compare ip route get SOURCE with the interface in the line. Fix the route; if the other way is meant, set net.ipv4.conf.INTERFACE.rp_filter=2.',
};
