/** Reads the rules that log in this network namespace, and counts all rules of iptables, with the programs that are installed. */
import type { Machine, RunResult } from './machine.ts';

export interface LogRule {
  /** `LOG` writes to the kernel's log, `NFLOG` to the programs that listen to a group. */
  target: 'LOG' | 'NFLOG';
  /** Includes white space at its end; '' if the rule has no prefix. */
  prefix: string;
  /** Undefined for LOG. */
  group: number | undefined;
  /** Undefined if the rule has no counter. */
  packets: number | undefined;
}

export interface IptablesBackend {
  /** The number of all rules, including jumps. */
  rules: number;
  /** Whether kube-proxy or Calico have chains with rules there. */
  hasClusterChains: boolean;
}

export interface Rules {
  /** One entry for all rules of the same target, prefix and group, with the sum of their packets. */
  logs: readonly LogRule[];
  /** A backend of iptables is undefined if its rules cannot be seen. */
  legacy: IptablesBackend | undefined;
  nft: IptablesBackend | undefined;
  /** The backends whose rules could not all be read, so that more of them may log. */
  unseen: readonly ('iptables-legacy' | 'nft')[];
  /** Failures of installed programs. A missing program is not a failure. */
  failures: readonly Failure[];
}

export interface Failure {
  program: string;
  reason: string;
}

/** Lists of the legacy backend's tables in this network namespace. They exist only if its module is loaded. */
const legacyTables = ['/proc/net/ip_tables_names', '/proc/net/ip6_tables_names'];

const names = {
  legacy: ['iptables-legacy-save', 'ip6tables-legacy-save'],
  nft: ['iptables-nft-save', 'ip6tables-nft-save'],
  plain: ['iptables-save', 'ip6tables-save'],
} as const;

export async function readFirewallRules({ run, readFile }: Pick<Machine, 'run' | 'readFile'>): Promise<Rules> {
  const failures: Failure[] = [];
  const note = (program: string, ran: RunResult): void => {
    if (ran.kind === 'failed')
      failures.push({ program, reason: ran.reason.replace(/^ip6?tables\S* v[\d.]+ \(\w+\): /, '') });
  };
  const saved = async (programs: readonly string[]): Promise<IptablesSave[]> => {
    const outcomes = await Promise.all(programs.map((program) => run(program, ['--counters'])));
    for (const [index, outcome] of outcomes.entries()) note(programs[index] ?? '', outcome);
    return outcomes.flatMap((outcome) => (outcome.kind === 'done' ? [readIptablesSave(outcome.output)] : []));
  };
  const [legacy, nft, plain, ruleset] = await Promise.all([
    saved(names.legacy),
    saved(names.nft),
    saved(names.plain),
    run('nft', ['list', 'ruleset']),
  ]);
  note('nft', ruleset);
  // The programs without a backend in their names use one of the two backends. Their version says which.
  if (plain.length > 0) {
    const version = await run('iptables-save', ['--version']);
    // Before 1.8 there was only the legacy backend.
    const own = version.kind === 'done' && version.output.includes('nf_tables') ? nft : legacy;
    if (version.kind === 'done' && own.length === 0) own.push(...plain);
  }
  const hasNoLegacy = legacyTables.every((path) => readFile(path) === '');
  const seesLegacy = hasNoLegacy || legacy.length === 2;
  const seesNft = ruleset.kind === 'done' && (!hidesRules(ruleset.output) || nft.length > 0);
  const ofNft = ruleset.kind === 'done' ? readNftRuleset(ruleset.output) : [];
  return {
    logs: distinct(
      [...legacy, ...nft].flatMap(({ logs }) => logs),
      nft.flatMap(({ logs }) => logs),
      ofNft,
    ),
    legacy: legacy.length > 0 || hasNoLegacy ? together(legacy) : undefined,
    nft: nft.length > 0 ? together(nft) : undefined,
    unseen: [...(seesLegacy ? [] : (['iptables-legacy'] as const)), ...(seesNft ? [] : (['nft'] as const))],
    failures,
  };
}

/** Joins equal rules. A rule of iptables that nft also shows counts once. */
function distinct(
  ofIptables: readonly LogRule[],
  ofIptablesNft: readonly LogRule[],
  ofNft: readonly LogRule[],
): LogRule[] {
  const keyOf = ({ target, prefix, group }: LogRule): string => `${target} ${group ?? ''} ${prefix}`;
  const shown = new Set(ofIptablesNft.map(keyOf));
  const rules = [...ofIptables, ...ofNft.filter((rule) => !shown.has(keyOf(rule)))];
  return [...Map.groupBy(rules, keyOf).values()].map((alike) => {
    const { target, prefix, group } = alike[0] as LogRule;
    const counted = alike.flatMap(({ packets }) => packets ?? []);
    const packets = counted.length === 0 ? undefined : counted.reduce((sum, each) => sum + each, 0);
    return { target, prefix, group, packets };
  });
}

function together(saved: readonly IptablesSave[]): IptablesBackend {
  return {
    rules: saved.reduce((sum, { rules }) => sum + rules, 0),
    hasClusterChains: saved.some(({ hasClusterChains }) => hasClusterChains),
  };
}

/** Matches the error of the kernel, of iptables or of nft for a user who is not root or lacks CAP_NET_ADMIN. */
const refusal = /not permitted|permission denied|must be root/i;

export function whyUnseen(failures: readonly Failure[]): string {
  if (failures.length === 0) return 'their programs are missing here';
  if (failures.every(({ reason }) => refusal.test(reason))) return 'only root on the node may see them';
  return [...Map.groupBy(failures, ({ reason }) => reason)]
    .map(([reason, [first, ...more]]) => {
      const others = more.length === 0 ? '' : ` and ${more.length} more`;
      return `${first?.program}${others}: ${reason}`;
    })
    .join('; ');
}

interface IptablesSave extends IptablesBackend {
  logs: readonly LogRule[];
}

/** The text is without the double quotes around it. */
interface Word {
  text: string;
  isQuoted: boolean;
}

/** Reads the output of `iptables-save --counters`, of either backend and address family. */
export function readIptablesSave(text: string): IptablesSave {
  const logs: LogRule[] = [];
  let rules = 0;
  let hasClusterChains = false;
  for (const line of text.split('\n')) {
    const [, packets, rule] = /^(?:\[(\d+):\d+\] )?-A (.+)$/.exec(line) ?? [];
    if (rule === undefined) continue;
    rules++;
    hasClusterChains ||= /^(?:KUBE|cali)-/.test(rule);
    // Parse only rules that may log: a few of some ten thousand. A comment may also match.
    if (!/ -j N?F?LOG(?: |$)/.test(line)) continue;
    const words = iptablesWords(rule);
    const after = (option: string): string | undefined =>
      words[words.findIndex((word) => !word.isQuoted && word.text === option) + 1 || words.length]?.text;
    const target = after('-j');
    if (target !== 'LOG' && target !== 'NFLOG') continue;
    const group = target === 'NFLOG' ? Number(after('--nflog-group') ?? 0) : undefined;
    const prefix = after(target === 'LOG' ? '--log-prefix' : '--nflog-prefix') ?? '';
    logs.push({ target, prefix, group, packets: packets === undefined ? undefined : Number(packets) });
  }
  return { rules, hasClusterChains, logs };
}

/** A quoted text is one word, without its escapes (libxtables, xtables_save_string). */
function iptablesWords(rule: string): Word[] {
  return [...rule.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(([, quoted, plain = '']) =>
    quoted === undefined ? { text: plain, isQuoted: false } : { text: quoted.replace(/\\(.)/g, '$1'), isQuoted: true },
  );
}

/** See nft(8), LOG STATEMENT. The JSON of `nft -j` lacks prefixes of iptables, is many times as long, and not every nft can print it. */
export function readNftRuleset(text: string): LogRule[] {
  return text.split('\n').flatMap((line) => {
    if (!/\blog\b/.test(line)) return [];
    const counter = /\bcounter packets (\d+) bytes \d+ /.exec(line);
    const isBefore = counter !== null && /\blog\b/.test(line.slice(counter.index + counter[0].length));
    const packets = isBefore ? Number(counter[1]) : undefined;
    const words = nftWords(line);
    return words.flatMap((word, at) =>
      word.text === 'log' && !word.isQuoted ? [logStatement(words.slice(at + 1), packets)] : [],
    );
  });
}

/** Whether this nft hides rules of iptables: without libxtables it shows only the names of targets, `xt target "LOG"`. */
function hidesRules(text: string): boolean {
  return /\bxt target "N?F?LOG"/.test(text);
}

const options = new Set(['prefix', 'group', 'level', 'flags', 'snaplen', 'queue-threshold']);

/** Options come in any order, each with one value; `flags` may have two words (`tcp sequence,options`). */
function logStatement(words: readonly Word[], packets: number | undefined): LogRule {
  let prefix = '';
  let group: number | undefined;
  for (let at = 0; at < words.length; at += 2) {
    const [option, value] = [words[at], words[at + 1]];
    if (option === undefined || option.isQuoted || !options.has(option.text)) break;
    if (option.text === 'prefix') prefix = value?.text ?? '';
    if (option.text === 'group') group = Number(value?.text);
    if (option.text === 'flags' && (value?.text === 'tcp' || value?.text === 'ip')) at++;
  }
  return { target: group === undefined ? 'LOG' : 'NFLOG', prefix, group, packets };
}

/** Words that may follow a prefix: other options of `log`, and other statements (nft(8), LOG STATEMENT and STATEMENTS). */
const next =
  'level|flags|group|snaplen|queue-threshold|accept|drop|reject|counter|limit|quota|last|jump|goto|return|continue|queue|log|' +
  'meta|ct|ip|ip6|tcp|udp|ether|set|add|update|delete|dup|fwd|snat|dnat|masquerade|redirect|tproxy|synproxy|notrack|flow|comment|#';

/** Matches a word. nft escapes nothing, so a prefix that contains quotes ends only where one of these words follows. */
const nftWord = new RegExp(`(?<=\\bprefix )"(.{0,127}?)"(?= *$| (?:${next})(?: |$))|"([^"]*)"|(\\S+)`, 'g');

function nftWords(rule: string): Word[] {
  return [...rule.matchAll(nftWord)].map(([, prefix, quoted = prefix, plain = '']) =>
    quoted === undefined ? { text: plain, isQuoted: false } : { text: quoted, isQuoted: true },
  );
}
