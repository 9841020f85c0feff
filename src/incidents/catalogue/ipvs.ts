import type { CauseRow } from './cause.ts';
import { isProblem, textOf, startsWithAny } from './record-text.ts';
import { shellWords, subjects, syncEvery } from './texts.ts';

/** kube-proxy, mode ipvs [1.8 to 1.36: pkg/proxy/ipvs]. */
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

/** Of a Service or a set, as they are printed: `10.96.0.10:53/UDP`, `shop/web:https`, `KUBE-CLUSTER-IP`. */
const names = [/^Failed to sync (?:endpoint for )?service: ([\w.:[\]-]{3,60}\/\w{3,4})\b/, /\bKUBE-[A-Z0-9-]{3,40}\b/];

export const ipvsFailed: CauseRow = {
  code: 'KN115',
  name: 'ipvs-failed',
  title: 'kube-proxy cannot program IPVS',
  reason: 'IpvsFailed',
  overReason: 'IpvsWorksAgain',
  retryInterval: syncEvery,
  programs: ['kube-proxy'],
  needles: openings,
  match(record) {
    if (!isProblem(record) || !startsWithAny(record.message, openings)) return undefined;
    const { fields } = record;
    const named = fields['servicePortName'] ?? fields['serviceName'];
    if (named !== undefined && named !== '') return { subject: named };
    const text = textOf(record).slice(0, 2048);
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
