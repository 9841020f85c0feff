import type { ProgramRecord } from '../../../base/model/program-record.ts';
import type { CauseMatch, CauseRow } from './cause.ts';
import { find, iptablesFailure, iptablesNeedles, textOfRecord } from './record-text.ts';
import { cannotUseIptables, noIptables } from './starting.ts';
import { onlyFamily, program, subjects, unreachable } from './texts.ts';

/** iptables-nft-save 1.8.9 exits with 3 (VERSION_PROBLEM) if it cannot parse a rule. felix does not log the output. */
const cannotParse = (record: ProgramRecord): boolean =>
  /^ip6?tables-nft-save command failed$/.test(record.message) && /^exit status 3\b/.test(record.error);

/** The text of iptables-nft about a table, or a chain, with rules that it cannot read. */
const incompatible = /table [`'‘]\w+['’] is incompatible, use 'nft' tool/;

const why = 'Another program writes with nft into the tables filter, nat or mangle that iptables-nft shares.';

export const foreignNftRules: CauseRow = {
  code: 'KN203',
  name: 'felix-foreign-nft-rules',
  title: 'Foreign nft rules in the tables of iptables',
  reason: 'ForeignNftRules',
  overReason: 'ForeignNftRulesGone',
  retryInterval: 180_000,
  programs: ['felix'],
  needles: iptablesNeedles,
  match: (record) => {
    const found = find(iptablesFailure(record), [/incompatible nft rules in the table/, incompatible]);
    if (found === undefined && !cannotParse(record)) return undefined;
    return { subject: record.fields['table'], quote: found?.quote };
  },
  what: (details, node) =>
    `calico-node cannot read the table ${subjects(details) || 'of its rules'} on ${node}: there are nft rules in it that iptables does not understand.`,
  why: () => why,
  fix: () =>
    'Find them: nft list table ip filter (also nat, mangle, and ip6). Move them into a table of their own (nft add table inet NAME), or let Calico use nft as well: FelixConfiguration nftablesMode: Enabled, or with the Tigera operator linuxDataplane: Nftables of the Installation.',
  impact: unreachable,
};

/** Reads ``chain `FORWARD' in table `filter' is incompatible, use 'nft' tool``. The subject is the table and the chain. */
function incompatibleChain(text: string): CauseMatch | undefined {
  const [quote, chain, table] =
    /(?:\bip6?tables[\w-]{0,16} v[\d.]{1,12} \(nf_tables\): )?(?:chain [`'‘]([\w-]{1,29})['’] in )?table [`'‘](\w{1,16})['’] is incompatible, use 'nft' tool/.exec(
      text,
    ) ?? [];
  return quote === undefined ? undefined : { subject: chain === undefined ? table : `${table} ${chain}`, quote };
}

export const foreignNftRulesOfServices: CauseRow = {
  code: 'KN122',
  name: 'foreign-nft-rules',
  title: 'Foreign nft rules stop kube-proxy or kube-router',
  reason: 'ForeignNftRulesInIptables',
  overReason: 'IptablesReadableAgain',
  endsWithSync: true,
  programs: ['kube-proxy', 'kube-router'],
  needles: [...iptablesNeedles, 'is incompatible, use '],
  infoOpenings: [noIptables],
  match(record) {
    const text =
      record.program === 'kube-router' ? textOfRecord(record) : (iptablesFailure(record) ?? cannotUseIptables(record));
    return text === undefined ? undefined : incompatibleChain(text);
  },
  what: (details, node) =>
    `${program(details)} cannot read the iptables rules on ${node}${onlyFamily(details)}${subjects(details) === '' ? '' : ` (${subjects(details)})`}: some are nft rules that iptables does not understand.`,
  why: (details) =>
    details.failing === 'kube-router'
      ? `${why} kube-router then ends, and k3s with it.`
      : `${why} Until they are gone, no change of a Service arrives here.`,
  fix: (details) =>
    'Find them: nft list table ip filter (also nat, mangle, and ip6). Move them into a table of their own (nft add table inet NAME). ' +
    (details.failing === 'kube-router'
      ? 'Then start k3s or kube-router again.'
      : 'Or use kube-proxy mode: nftables (k3s: --kube-proxy-arg=proxy-mode=nftables), which has its own table.'),
  impact: unreachable,
};
