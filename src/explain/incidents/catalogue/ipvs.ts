import type { IncidentDetails } from '../../../base/model/incident.ts';
import type { CauseRow } from './cause.ts';
import { startsWithAny, textOfRecord } from './record-text.ts';
import { podArguments, shellWords, subjects } from './texts.ts';

/** Beginnings of kube-proxy's errors in mode ipvs [1.8 to 1.36: pkg/proxy/ipvs]. */
const openings = [
  'Failed to sync endpoint for service',
  'Failed to sync service',
  'Failed to add IPVS service',
  'Failed to update IPVS service',
  'Failed to bind service address to dummy',
  'Failed to get IPVS service',
  'Failed to get ipvs service',
  'Failed to list IPVS destinations',
  'Failed to add destination',
  'Failed to update destination',
  'Failed to delete destination',
  'Failed to make sure ip set',
  'Failed to make sure existence of ip set',
  'Failed to add ip set entry to ip set',
  'Failed to add entry',
  'Failed to list ip set entries',
  'Failed to create dummy interface',
  'Error adding entry to ipset',
];

/** Match the address of a Service, or an IP set, in an error: `10.96.0.10:53/UDP`, `KUBE-CLUSTER-IP`. */
const names = [
  /^Failed to sync (?:endpoint for )?service: ([\da-f.:[\]]{3,60}\/(?:TCP|UDP|SCTP))\b/,
  /\bKUBE-[A-Z0-9-]{3,40}\b/,
];

export const ipvsFailed: CauseRow = {
  code: 'KN115',
  name: 'ipvs-failed',
  title: 'kube-proxy cannot program IPVS',
  reason: 'IpvsFailed',
  overReason: 'IpvsWorksAgain',
  programs: ['kube-proxy'],
  needles: openings,
  match(record) {
    if (!startsWithAny(record.message, openings)) return undefined;
    const { fields } = record;
    // The last three: 1.20 to 1.22.
    const named = ['servicePortName', 'serviceName', 'svcPortName', 'svcName', 'service']
      .map((key) => fields[key] ?? '')
      .find((value) => value !== '');
    if (named !== undefined) return { subject: named };
    const text = textOfRecord(record).slice(0, 2048);
    for (const name of names) {
      const found = name.exec(text);
      if (found !== null) return { subject: found[1] ?? found[0] };
    }
    return { subject: fields['ipset'] };
  },
  what: (details, node) =>
    `kube-proxy cannot program IPVS on ${node}${subjects(details) !== '' ? ` for ${subjects(details)}` : ''}.`,
  why(details) {
    if (/parseIP Error/.test(details.quote))
      return 'The kernel is too old (3.10) for this kube-proxy and answers in another format.';
    if (/ip ?set/i.test(details.quote))
      return 'ipset fails: its kernel modules are missing, its version does not fit, or a set of the same name has another type.';
    return 'The kernel lacks ip_vs modules, or another program (keepalived, a second kube-proxy) changes its virtual servers.';
  },
  fix: (details) =>
    'On the node: modprobe -a ip_vs ip_vs_rr ip_vs_wrr ip_vs_sh nf_conntrack ip_set xt_set; then look at ipvsadm -Ln' +
    `${shellWords(details.subjects, 1).some((name) => name.startsWith('KUBE-')) ? ` and ipset list ${shellWords(details.subjects, 1)[0]}` : ''}. ` +
    'Mode ipvs is deprecated: kube-proxy mode nftables replaces it.',
  impact: () => 'Some Services may lead nowhere, or to Pods that are gone, from this node.',
};

/** [1.8 to 1.37: pkg/proxy/ipvs]. */
const unbind = ['Failed to unbind service addr ', 'Failed to unbind service from dummy interface', 'UnbindAddress'];

export const ipvsAddressStays: CauseRow = {
  code: 'KN123',
  name: 'ipvs-address-stays',
  title: 'kube-proxy cannot remove an address from kube-ipvs0',
  reason: 'IpvsAddressStays',
  overReason: 'IpvsAddressRemoved',
  neverFatal: true,
  programs: ['kube-proxy'],
  needles: unbind,
  match(record) {
    if (!startsWithAny(record.message, unbind)) return undefined;
    const named = /\b(?:unbind service addr|unbind address:) ([\da-fA-F.:]{3,45})/.exec(
      textOfRecord(record).slice(0, 2048),
    );
    return { subject: record.fields['address'] ?? named?.[1] };
  },
  what: (details, node) =>
    `kube-proxy on ${node} cannot remove ${subjects(details) || 'an address'} from the interface kube-ipvs0.`,
  why: (details) =>
    isLinkLocal(details)
      ? "That is the interface's own IPv6 address, which no Service has: releases of kube-proxy around 1.12 try to remove it at each sync. It is harmless."
      : 'An address of a Service that is gone stays: this node itself answers to it, and traffic to its new owner does not leave the node.',
  fix: (details) =>
    isLinkLocal(details)
      ? 'Update kube-proxy, or leave it.'
      : `On the node: ip -br addr. If no Service has the address (kubectl get services -A | grep ADDRESS), restart kube-proxy: kubectl delete pod ${podArguments(details)}. Look for another program (keepalived) that manages it.`,
};

function isLinkLocal({ subjects: named }: IncidentDetails): boolean {
  return named.length > 0 && named.every((address) => /^fe[89ab]/i.test(address));
}

export const ipvsNoDestination: CauseRow = {
  code: 'KN405',
  name: 'ipvs-no-destination',
  title: 'A Service of IPVS has no Pod to send to',
  reason: 'IpvsNoDestination',
  overReason: 'IpvsDestinationFound',
  asks: 'nothing',
  matchTable(report) {
    if (report.kind !== 'ipvs-no-destination') return undefined;
    const { family, service, isOverloaded } = report;
    return {
      family: family ?? '',
      subject: service,
      quote: `IPVS: ${service} - no destination available${isOverloaded ? ': all destinations are overloaded' : ''}`,
    };
  },
  what: (details, node) =>
    `Connections to ${subjects(details) || 'a Service'} fail on ${node}: IPVS has no Pod to send them to.`,
  why: ({ quote }) =>
    /overloaded/.test(quote)
      ? 'All real servers of that virtual server have reached their limit of connections.'
      : 'The Service has no ready Pod, or all that it had are just ending; or kube-proxy, or kube-router, has not told IPVS of the new ones.',
  fix: () =>
    'Find the Service: kubectl get services -A -o wide | grep ADDRESS (a NodePort has the address of the node), then its Pods: kubectl -n NAMESPACE get endpointslices. If there are ready ones, compare ipvsadm -Ln on the node and read the log of kube-proxy.',
};
