import type { CauseRow, Match } from './cause.ts';
import { familyOf, iptablesNeedles, lineAt, nftablesNeedles, programmingFailure, textOf } from './record-text.ts';
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
];

/** Matches a warning. The failure after it may have another reason. */
const warned = /Warning: Extension (\w{1,29}) revision \d+ not supported, missing kernel module\?/;

function moduleMissedByIptables(text: string, family: string): Match | undefined {
  const ipv6 = family === 'IPv6';
  for (const { expression, module } of certain) {
    const found = expression.exec(text);
    if (found !== null) return { subject: module(found[1] ?? '', ipv6), quote: lineAt(text, found.index) };
  }
  const warning = warned.exec(text);
  if (warning === null || /Couldn't load target [`'‘](?:KUBE|cali)-|Bad argument|lines? \d+ failed/.test(text))
    return undefined;
  return { subject: moduleOf(warning[1] ?? '', ipv6), quote: lineAt(text, warning.index) };
}

/** kube-proxy's and felix's rules use only one expression that some distributions leave out of their kernels: `fib`. */
const fib =
  /(?:No such file or directory|Operation not supported)[^\n]{0,400}\n(?:add|insert|create|replace) [^\n"]{1,2000}? fib /;

function moduleMissedByNft(text: string, family: string): Match | undefined {
  const found = fib.exec(text.replace(/^[ \t]+/gm, ''));
  if (found !== null) {
    const error = text.search(/No such file or directory|Operation not supported/);
    return { subject: family === 'IPv6' ? 'nft_fib_ipv6' : 'nft_fib_ipv4', quote: lineAt(text, error) };
  }
  const cache = /(?:cache initialization failed|Could not process rule|Error): (Protocol not supported)/.exec(text);
  return cache === null ? undefined : { subject: 'nf_tables', quote: lineAt(text, cache.index) };
}

/** Reads `[ip_vs_rr ip_vs_wrr]`, as kube-proxy before 1.24 logs it. */
function modulesMissedByIpvs(text: string): Match | undefined {
  const found = /required kernel modules are not loaded: \[([\w ]{1,200})\]/.exec(text);
  return found === null ? undefined : { subject: found[1], quote: lineAt(text, found.index) };
}

export const moduleMissing: CauseRow = {
  code: 'KN105',
  name: 'kernel-module-missing',
  title: 'A kernel module is missing',
  reason: 'KernelModuleMissing',
  overReason: 'KernelModuleFound',
  endsWithSync: true,
  programs: ['kube-proxy', 'felix'],
  needles: [...iptablesNeedles, ...nftablesNeedles, ...moduleNeedles],
  match(record) {
    const text = programmingFailure(record);
    if (text !== undefined) {
      const family = familyOf(record, text);
      return moduleMissedByIptables(text, family) ?? moduleMissedByNft(text, family);
    }
    return record.program === 'kube-proxy' && /^[Cc]an't (?:use|determine)/.test(record.message)
      ? modulesMissedByIpvs(textOf(record))
      : undefined;
  },
  what: (details, node) =>
    `${program(details)} cannot write its rules on ${node}${onlyFamily(details)}: the kernel lacks ${subjects(details) || 'a module'}.`,
  why(details) {
    if (details.subjects.includes('xt_MASQUERADE'))
      return 'Either the module is not there, or its iptables is older than 1.6.2, which does not know --random-fully.';
    if (details.subjects.includes('xt_mark') && details.families.length === 1 && details.families[0] === 'IPv6')
      return 'Some kernels (Ubuntu 5.15.0-127, 6.8.0-57 and others) lost MARK for IPv6 in an update: the module is there and does not work.';
    return 'The module is not loaded and cannot be loaded from within the container, or this kernel was built without it.';
  },
  fix(details) {
    const modules = shellWords(details.subjects);
    if (modules.length === 0)
      return 'On the node: dmesg | tail; then modprobe what is missing, and list it in /etc/modules-load.d/.';
    const names = modules.join(' ');
    return (
      `On the node: modprobe -a ${names}; to keep it: printf '%s\\n' ${names} >> /etc/modules-load.d/kube.conf. ` +
      `Not found: install kernel-modules-extra or linux-modules-extra-$(uname -r).${ipv6Hint(details.families)}`
    );
  },
  impact: unreachable,
};

function ipv6Hint(families: readonly string[]): string {
  return families.length === 1 && families[0] === 'IPv6' ? ' Or turn IPv6 off.' : '';
}
