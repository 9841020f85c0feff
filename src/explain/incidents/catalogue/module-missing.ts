import type { IncidentDetails } from '../../../base/model/incident.ts';
import type { ProgramRecord } from '../../../base/model/program-record.ts';
import type { CauseMatch, CauseRow } from './cause.ts';
import { cannotUseIptables, noIptables } from './starting.ts';
import {
  familyOf,
  iptablesNeedles,
  lineAt,
  nftablesNeedles,
  programmingFailure,
  startsWithAny,
  textOfRecord,
} from './record-text.ts';
import { onlyFamily, program, shellWords, subjects, unreachable } from './texts.ts';

/*
 * Names of kernel modules as modprobe takes them, derived from what iptables and nft report as missing. Sources: net/netfilter,
 * net/ipv4/netfilter and net/ipv6/netfilter of the kernel, with their MODULE_ALIAS lines.
 */

/** Extensions whose module is not called `xt_` plus the name of the extension. */
const extensions: Readonly<Record<string, string>> = {
  MARK: 'xt_mark',
  CONNMARK: 'xt_connmark',
  SET: 'xt_set',
  DNAT: 'xt_nat',
  SNAT: 'xt_nat',
  NOTRACK: 'xt_CT',
  tcp: 'xt_tcpudp',
  udp: 'xt_tcpudp',
};

/** Extensions with one module for each family of addresses. */
const perFamily = new Set(['rpfilter', 'REJECT', 'SYNPROXY', 'ah']);

function moduleOf(extension: string, ipv6: boolean): string {
  if (perFamily.has(extension)) return `${ipv6 ? 'ip6t' : 'ipt'}_${extension}`;
  if (ipv6 && /^(?:rt|frag|eui64|ipv6header|hbh|mh|srh|NPT)$/.test(extension)) return `ip6t_${extension}`;
  return (Object.hasOwn(extensions, extension) ? extensions[extension] : undefined) ?? `xt_${extension}`;
}

/** Errors of a missing module. The first group is the name, if `module` uses it. For `--random-fully`, iptables may also be too old. */
const certain: readonly { expression: RegExp; module: (name: string, ipv6: boolean) => string }[] = [
  { expression: /Couldn't (?:load|find) match [`'‘]([\w-]{1,29})['’]/, module: moduleOf },
  { expression: /Couldn't (?:load|find) target [`'‘]([A-Z][A-Z0-9]{1,28})['’]/, module: moduleOf },
  {
    expression:
      /can't initialize ip6?tables table [`'‘](\w{1,31})['’]: (?:Table does not exist|No such file or directory)/,
    module: (table, ipv6) => `${ipv6 ? 'ip6table' : 'iptable'}_${table}`,
  },
  {
    expression: /unable to initialize table [`'‘](\w{1,31})['’]/,
    module: (table, ipv6) => `${ipv6 ? 'ip6table' : 'iptable'}_${table}`,
  },
  { expression: /MARK target: kernel too old for --([\w-]{1,16})/, module: () => 'xt_mark' },
  {
    expression: /(?:unknown option|unrecognized option) "?'?--(set-xmark|xor-mark|or-mark|and-mark|set-mark)\b/,
    module: () => 'xt_mark',
  },
  { expression: /MARK: bad value for option \\?"--(set-x?mark|xor-mark)/, module: () => 'xt_mark' },
  { expression: /(?:unknown option|unrecognized option) "?'?--(random-fully)\b/, module: () => 'xt_MASQUERADE' },
  { expression: /modprobe: FATAL: Module (\w{1,55}) not found/, module: (name) => name },
  { expression: /modprobe: ERROR: could not insert '(\w{1,55})'/, module: (name) => name },
  {
    expression:
      /(Could not fetch rule set generation id|Failed to initialize nft): (?:Invalid argument|Protocol not supported|Operation not supported|No such file or directory)/,
    module: () => 'nf_tables',
  },
];

/** The literals (see `Cause.needles`) of iptables' own lines, and of kube-proxy's lines about IPVS modules. */
const moduleNeedles = [
  'unknown option ',
  'unrecognized option',
  'missing kernel module',
  'bad value for option',
  "can't initialize ip",
  'required kernel modules are not loaded',
  'iptables is not available on this host',
  noIptables,
  'Failed to create knftables client',
  'Failed to complete ipset restore',
  'Bad return code from ',
];

/** Matches a warning. The failure after it may have another reason. */
const warned = /Warning: Extension (\w{1,29}) revision \d+ not supported, missing kernel module\?/;

function moduleMissedByIptables(text: string, family: string): CauseMatch | undefined {
  const ipv6 = family === 'IPv6';
  for (const { expression, module } of certain) {
    const found = expression.exec(text);
    if (found !== null) return { subject: module(found[1] ?? '', ipv6), quote: lineAt(text, found.index) };
  }
  const warning = warned.exec(text);
  if (warning === null || /Couldn't load target [`'‘](?:KUBE|cali)-|Bad argument|lines? \d+ failed/.test(text))
    return undefined;
  // iptables-nft asks nft_compat for each extension, and warns in the same way without it.
  const compat = text.includes('(nf_tables)') ? ' nft_compat' : '';
  return { subject: `${moduleOf(warning[1] ?? '', ipv6)}${compat}`, quote: lineAt(text, warning.index) };
}

/** The modules of the expressions in kube-proxy's and felix's rules. `nat` is the type of a chain. */
const expressions: Readonly<Record<string, string>> = {
  ct: 'nft_ct',
  dnat: 'nft_nat',
  hash: 'nft_hash',
  jhash: 'nft_hash',
  limit: 'nft_limit',
  log: 'nft_log',
  masquerade: 'nft_masq',
  nat: 'nft_chain_nat',
  numgen: 'nft_numgen',
  queue: 'nft_queue',
  redirect: 'nft_redir',
  reject: 'nft_reject_inet',
  snat: 'nft_nat',
};

/** The error names the columns of the expression in the command below it. */
const refused =
  /:(\d{1,5})-\d{1,5}: Error: (?:Could not process rule: )?(?:No such file or directory|Operation not supported)[^\n]{0,400}\n([^\n]{1,2000})/g;
/** In a log whose names were replaced, the columns are wrong, so `fib` is also searched, which some distributions leave out. */
const fib =
  /(?:No such file or directory|Operation not supported)[^\n]{0,400}\n(?:add|insert|create|replace) [^\n"]{1,2000}? fib /;

function moduleMissedByNft(whole: string, family: string): CauseMatch | undefined {
  const text = whole.replace(/^[ \t]+/gm, '');
  const fibModule = family === 'IPv6' ? 'nft_fib_ipv6' : 'nft_fib_ipv4';
  const modules = new Set<string>();
  for (const [, column, command = ''] of text.matchAll(refused)) {
    const expression = /^\w{1,16}/.exec(command.slice(Number(column) - 1))?.[0] ?? '';
    const module = expression === 'fib' ? fibModule : Object.hasOwn(expressions, expression) && expressions[expression];
    if (module) modules.add(module);
  }
  if (fib.test(text)) modules.add(fibModule);
  if (modules.size > 0) {
    const error = text.search(/No such file or directory|Operation not supported/);
    return { subject: [...modules].toSorted().join(' '), quote: lineAt(text, error) };
  }
  const cache = /(?:cache initialization failed|Could not process rule|Error): (Protocol not supported)/.exec(text);
  return cache === null ? undefined : { subject: 'nf_tables', quote: lineAt(text, cache.index) };
}

/** Reads `[ip_vs_rr ip_vs_wrr]`, as kube-proxy before 1.24 logs it. */
function modulesMissedByIpvs(text: string): CauseMatch | undefined {
  const found = /required kernel modules are not loaded: \[([\w ]{1,200})\]/.exec(text);
  return found === null ? undefined : { subject: found[1], quote: lineAt(text, found.index) };
}

/** felix with nftables ends at its start without the module. */
function noNfTables({ message, error }: ProgramRecord): CauseMatch | undefined {
  const begins = message.startsWith('Failed to create knftables client') && error.includes('Protocol not supported');
  return begins ? { subject: 'nf_tables' } : undefined;
}

/** Beginnings of felix's records with what ipset has printed [3.0 to 3.32: felix/ipsets/ipsets.go]. */
const ipsetOpenings = ['Failed to complete ipset restore', 'Bad return code from '];

/** The kernel loads a type of sets as a module, `ip_set_hash_net` for `hash:net`. felix logs the commands that make its sets. */
function moduleMissedByIpset({ message, error, fields }: ProgramRecord): CauseMatch | undefined {
  if (!startsWithAny(message, ipsetOpenings)) return undefined;
  const reason =
    /Kernel error received: set type not supported|Cannot open session to kernel|Kernel support protocol versions? /.exec(
      error,
    );
  if (reason === null) return undefined;
  const type = /^create \S{1,64} (hash|bitmap|list):(\w{1,8}(?:,\w{1,8}){0,3}) /m.exec(fields['input'] ?? '');
  const isType = type !== null && reason[0].includes('set type');
  const subject = isType ? `ip_set_${type[1]}_${(type[2] ?? '').replaceAll(',', '')}` : 'ip_set';
  return { subject, quote: lineAt(error, reason.index) };
}

/** The tables of legacy iptables, which kernels with nf_tables alone lack: RHEL 10, Talos, Alpine 3.23. */
const legacyTables = /^ip6?_tables$|^ip6?table_(?:filter|nat|mangle|raw|security)$/;

export const moduleMissing: CauseRow = {
  code: 'KN105',
  name: 'kernel-module-missing',
  title: 'A kernel module is missing',
  reason: 'KernelModuleMissing',
  overReason: 'KernelModuleFound',
  endsWithSync: true,
  programs: ['kube-proxy', 'felix'],
  needles: [...iptablesNeedles, ...nftablesNeedles, ...moduleNeedles],
  infoOpenings: [noIptables],
  match(record) {
    const text = programmingFailure(record) ?? cannotUseIptables(record);
    if (text !== undefined) {
      const family = familyOf(record, text);
      return moduleMissedByIptables(text, family) ?? moduleMissedByNft(text, family);
    }
    if (record.program === 'felix') return noNfTables(record) ?? moduleMissedByIpset(record);
    return record.program === 'kube-proxy' && /^[Cc]an't (?:use|determine)/.test(record.message)
      ? modulesMissedByIpvs(textOfRecord(record))
      : undefined;
  },
  what: (details, node) =>
    `${program(details)} cannot write its rules on ${node}${onlyFamily(details)}: the kernel lacks ${subjects(details) || 'a module'}.`,
  why(details) {
    if (details.subjects.includes('xt_MASQUERADE'))
      return 'Either the module is not there, or its iptables is older than 1.6.2, which does not know --random-fully.';
    if (details.subjects.includes('xt_mark') && details.families.length === 1 && details.families[0] === 'IPv6')
      return 'Some kernels (Ubuntu 5.15.0-127, 6.8.0-57 and others) lost MARK for IPv6 in an update: the module is there and does not work.';
    if (isOfLegacy(details))
      return 'Either it is not loaded, or this kernel has no legacy iptables at all, as those of RHEL 10, Talos and Alpine 3.23: they have only nf_tables.';
    return 'The module is not loaded and cannot be loaded from within the container, or this kernel was built without it.';
  },
  fix(details) {
    const modules = shellWords(details.subjects);
    if (modules.length === 0)
      return 'On the node: dmesg | tail; then modprobe what is missing, and list it in /etc/modules-load.d/.';
    const names = modules.join(' ');
    if (isOfLegacy(details))
      return `On the node: modprobe -n -a ${names} says whether it exists. If not: ${
        details.failing === 'felix'
          ? 'FelixConfiguration iptablesBackend: NFT, or nftables: nftablesMode: Enabled (Tigera operator: linuxDataplane: Nftables).'
          : 'kube-proxy mode: nftables (kernel 5.13 or newer), or its own image, whose iptables uses nf_tables.'
      } If it does: modprobe it, and list it in /etc/modules-load.d/.`;
    return (
      `On the node: modprobe -a ${names}; to keep it: printf '%s\\n' ${names} >> /etc/modules-load.d/kube.conf. ` +
      `Not found: install kernel-modules-extra or linux-modules-extra-$(uname -r).${ipv6Hint(details.families)}`
    );
  },
  impact: unreachable,
};

function isOfLegacy({ subjects: named }: IncidentDetails): boolean {
  return named.length > 0 && named.every((name) => legacyTables.test(name));
}

function ipv6Hint(families: readonly string[]): string {
  return families.length === 1 && families[0] === 'IPv6' ? ' Or turn IPv6 off.' : '';
}
