/** Checks the kernel's rules: whether they log, whether their lines reach the log, and what their prefixes mean. */
import type { CheckInput } from '../facts.ts';
import { latestLines } from '../kernel-log.ts';
import { ago, answersOf, type Check } from '../report.ts';
import { plural } from '../../terminal.ts';
import { whyUnseen, type LogRule } from '../rules.ts';
import { documentAt } from '../../../agent/config/docs-url.ts';
import type { Millis } from '../../../base/model/log-line.ts';
import type { Verdict } from '../../../base/model/packet.ts';
import type { PrefixMeaning } from '../../../read/parsing/parsing.ts';
import { printable } from '../../../base/platform/printable.ts';

export function checkProcRoot({ config: { procRoot }, hasProcRoot }: CheckInput): Check[] {
  const { ok, warning } = answersOf('proc-root');
  if (procRoot === '/proc') return [];
  if (hasProcRoot) return [ok(`${procRoot} is there`)];
  return [
    warning(
      `${procRoot} is not a /proc, or cannot be read: incidents do not say who fills the connection tracking table`,
      "mount there what deploy/components/conntrack-details mounts of the host's /proc, read-only, or leave PROC_ROOT out",
    ),
  ];
}

/** An older line may come from a rule that was removed. */
const recent: Millis = 3_600_000;

export function checkLogRules({ rules, view, kernelSources, feeds, now }: CheckInput): Check {
  const { ok, problem, unknown } = answersOf('log-rules');
  const packets = latestLines(kernelSources)?.packets ?? [];
  const last = Math.max(...packets.map(({ time }) => time));
  const records = kernelSources.flatMap(({ log }) =>
    log !== undefined && 'packets' in log ? log.packets.filter(({ record }) => record !== undefined) : [],
  );
  const latest = records.toSorted((a, b) => b.time - a.time)[0];
  if (latest !== undefined && packets.length === 0 && (view === 'pod' || rules.logs.length === 0))
    return ok(
      `no rule that logs is found, but ${latest.record} does: ${plural(records.length, 'line')} lately, the last one ${ago(latest.time, now)}`,
    );
  if (view === 'pod') return unseen("rules cannot be seen from a Pod without the node's network");
  if (rules.logs.length > 0) {
    const targets = Map.groupBy(rules.logs, ({ target }) => target);
    const counted = (['LOG', 'NFLOG'] as const).flatMap((target) => {
      const count = targets.get(target)?.length;
      return count === undefined ? [] : [`${count} ${target}`];
    });
    return ok(`rules that log, by prefix: ${counted.join(' and ')}`);
  }
  if (rules.unseen.length > 0)
    return unseen(
      `none found, but the rules of ${rules.unseen.join(' and ')} cannot be seen (${whyUnseen(rules.failures)})`,
    );
  // A data plane without netfilter needs no such rule.
  const feed = feeds.find(({ obstacle }) => obstacle === undefined);
  if (packets.length === 0 && feed !== undefined)
    return ok(`no rule of this node logs; ${feed.name} in SOURCES needs none`);
  const gone =
    packets.length === 0
      ? ''
      : `. One that did is gone: ${plural(packets.length, 'line')} lately, the last one ${ago(last, now)}`;
  return problem(
    `no rule of this node logs: lost packets leave no trace${gone}`,
    `add a LOG rule before the rule that drops; ${documentAt('docs/logging.md')} says how`,
  );

  /** A recent line proves that a rule logs, even if the rules cannot be seen. */
  function unseen(why: string): Check {
    const byHand = "run on the node as root: iptables-save | grep -E -- '-j N?F?LOG'; nft list ruleset | grep -w log";
    if (packets.length === 0) return unknown(why, byHand);
    const line = `the last line of one came ${ago(last, now)}`;
    return now - last <= recent ? ok(`there are rules that log: ${line}; ${why}`) : unknown(`${why}; ${line}`, byHand);
  }
}

/** The kernel applies the rules of both backends, but the programs of each see only their own. */
export function checkIptablesBackends({ rules, view }: CheckInput): Check {
  const { ok, problem, unknown, warning } = answersOf('iptables-backends');
  const byHand = 'run on the node as root: iptables-legacy-save | grep -c ^-A; iptables-nft-save | grep -c ^-A';
  const page = documentAt('docs/causes/KN110-mixed-iptables-backends.md');
  if (view === 'pod') return unknown("cannot be seen from a Pod without the node's network", byHand);
  const { legacy, nft } = rules;
  if (legacy === undefined || nft === undefined) {
    const hidden = legacy !== undefined ? 'nft' : nft !== undefined ? 'legacy' : 'both backends';
    const why = whyUnseen(rules.failures.filter(({ program }) => program !== 'nft'));
    return unknown(`the rules of ${hidden} cannot be seen (${why})`, byHand);
  }
  if (legacy.rules > 0 && nft.rules > 0) {
    const counts = `legacy has ${plural(legacy.rules, 'rule')}, nft ${plural(nft.rules, 'rule')}`;
    return legacy.hasClusterChains && nft.hasClusterChains
      ? problem(
          `${counts}, and kube-proxy or Calico are in both`,
          `let kube-proxy, Calico and the node use the same one: ${page}`,
        )
      : warning(counts, `a packet passes both; if that is not intended: ${page}`);
  }
  if (legacy.rules + nft.rules === 0) return ok('no rules of iptables');
  return ok(`only ${legacy.rules > 0 ? 'legacy' : 'nft'} (${plural(legacy.rules + nft.rules, 'rule')})`);
}

/** Provider ids of nodes that are containers on one machine. */
const inContainers = /^kind:|^k3s:\/\/k3d-/;
/** Provider ids of clouds whose nodes are machines. */
const onMachines = /^(?:aws|azure|digitalocean|equinixmetal|gce|hcloud|ibm|linode|openstack|vsphere):/;

export function checkLogNamespaces({ logsAllNamespaces, view, ownNode, rules }: CheckInput): Check {
  const { ok, unknown, warning } = answersOf('nf-log-all-netns');
  const { providerId = '' } = (ownNode?.kind === 'answered' ? ownNode.found : undefined) ?? {};
  if (view === 'initial')
    return ok(
      logsAllNamespaces
        ? 'on: rules of all network namespaces log'
        : "off, and not needed: the node's network is the kernel's first",
    );
  const advice =
    'run on the machine itself: sysctl net.netfilter.nf_log_all_netns; it must be 1, or the rules of this node log nothing';
  if (view === 'node' && rules.logs.length > 0 && rules.logs.every(({ target }) => target === 'NFLOG'))
    return ok('not needed: the rules of this node log to NFLOG, in any network namespace');
  if (inContainers.test(providerId))
    return warning('this node is itself a container, whose rules log only if the machine lets them', advice);
  if (view === 'node')
    return warning("the node's network is not the kernel's first: its rules log only if the machine lets them", advice);
  if (onMachines.test(providerId)) return ok(`not needed: the node is a machine (${providerId})`);
  return unknown('cannot be seen from here; it matters only if the node is itself a container (kind, k3d)', advice);
}

/** A node has a few prefixes, or hundreds if Calico puts the names of policies (`%p`) into them. */
const maxShown = 12;
/** Rows of the prefix table for packets that are logged on purpose and not dropped. */
const onPurpose = new Set(['trace', 'audit']);
/** The row of the prefix table for Calico's rules with action Log. */
const calicoLog = 'calico log action';
/** The row for lines that k3s's kube-router logs for a policy. */
const k3sPolicy = 'kube-router';

interface PrefixUse {
  meaning: PrefixMeaning;
  rules: LogRule[];
  lines: number;
  /** The meaning of the lines; ulogd's lines may contain it. */
  verdicts: Set<Verdict>;
  last: Millis | undefined;
}

export function checkPrefixes({ rules, view, kernelSources, prefixes, now }: CheckInput): Check[] {
  const log = latestLines(kernelSources);
  const found = new Map<string, PrefixUse>();
  const seenWith = (raw: string): PrefixUse => {
    const meaning = prefixes.look(raw);
    const seen = found.get(meaning.text) ?? { meaning, rules: [], lines: 0, verdicts: new Set(), last: undefined };
    found.set(meaning.text, seen);
    return seen;
  };
  // A Pod's own network does not have the node's rules, so they are not shown.
  for (const rule of view === 'pod' ? [] : rules.logs) seenWith(rule.prefix).rules.push(rule);
  for (const { prefix, verdict, time } of log?.packets ?? []) {
    const seen = seenWith(prefix);
    seen.lines++;
    seen.verdicts.add(verdict);
    seen.last = Math.max(seen.last ?? -Infinity, time);
  }
  const knowsAllRules = view !== 'pod' && rules.unseen.length === 0;
  const readGroups = new Set(
    [...found.values()].flatMap((seen) => (seen.lines > 0 ? seen.rules.flatMap(({ group }) => group ?? []) : [])),
  );
  const isOfK3s = [...found.values()].some(({ meaning }) => meaning.rule === k3sPolicy);
  const byLines = [...found.values()].toSorted((a, b) => b.lines - a.lines);
  const all = byLines.map((seen) =>
    checkOf(seen, { knowsAllRules, isOfK3s, readGroups, hasLog: log !== undefined, now }),
  );
  // Prefixes that need an action come first, so that they are shown, and then those with the most lines.
  const order = all.toSorted((a, b) => Number(a.status === 'ok') - Number(b.status === 'ok'));
  if (order.length <= maxShown) return order;
  return [...order.slice(0, maxShown), answersOf('prefix …').ok(`${order.length - maxShown} more prefixes`)];
}

interface PrefixContext {
  knowsAllRules: boolean;
  /** Whether a rule or a line has the prefix of k3s's policies. */
  isOfK3s: boolean;
  /** Groups of NFLOG that have lines. */
  readGroups: ReadonlySet<number>;
  /** Whether the kernel's latest lines can be read. */
  hasLog: boolean;
  now: Millis;
}

function checkOf({ meaning, rules, lines, verdicts, last }: PrefixUse, context: PrefixContext): Check {
  const { knowsAllRules, isOfK3s, readGroups, hasLog, now } = context;
  const { text, rule } = meaning;
  const [said = meaning.verdict] = verdicts.size === 1 ? verdicts : [];
  const verdict = meaning.verdict === 'logged' ? said : meaning.verdict;
  const { ok, warning } = answersOf(`prefix ${text === '' ? '(none)' : printable(text)}`);
  const none = hasLog ? ', no such line lately' : '';
  const when = last === undefined ? none : `, ${plural(lines, 'line')} lately, the last one ${ago(last, now)}`;
  const why =
    verdict !== meaning.verdict
      ? ' (ulogd says so)'
      : verdict === 'logged' || rule.startsWith('word for')
        ? ''
        : ` (${rule})`;
  const isGone = rules.length === 0 && knowsAllRules;
  const finding = `${meanings[verdict]}${why}${when}${isGone ? '; no rule of this node has it now' : ''}`;
  const groups = rules.flatMap(({ group }) => (group === undefined || readGroups.has(group) ? [] : [group]));
  if (groups.length > 0 && groups.length === rules.length && lines === 0)
    return warning(
      `goes to NFLOG group ${groups[0]}, not to the kernel's log`,
      'let ulogd write that group to a log file, and name the file in SOURCES',
    );
  if (text === '' && isOfK3s && verdict === 'logged' && rules.every(({ target }) => target === 'NFLOG'))
    return ok(`k3s's second line of a packet, not counted beside the one that names the policy${when}`);
  if (verdict === 'logged' && !onPurpose.has(rule) && !isGone)
    return warning(finding, adviceOn(text, rules.length > 0 || rule === calicoLog));
  const packets = rules.reduce((sum, each) => sum + (each.packets ?? 0), 0);
  if (packets > 0 && lines === 0 && hasLog)
    return warning(
      `${finding}, though its rule has met ${plural(packets, 'packet')}`,
      'the lines may be older than those that were read; if not, they do not reach the source: compare with dmesg on the node',
    );
  return ok(finding);
}

/** `isOfRule`: a rule certainly has the prefix. A line alone is no proof, because the kernel also logs texts that any user can write. */
function adviceOn(text: string, isOfRule: boolean): string {
  if (text === '') return 'if the rule comes before one that drops, give it a --log-prefix with the word drop';
  if (!isOfRule)
    return 'if a rule of this node has that prefix and comes before one that drops: give it a prefix with the word drop, or name it in PREFIXES';
  const [word = ''] = text.split(/[\s:]/, 1);
  // The user copies the advice to a shell, so a word with other characters is left out: a stranger may have written it.
  const setting = /^[\w.-]+$/.test(word) ? `PREFIXES=${word}=dropped, or ` : '';
  return `if the rule comes before one that drops: ${setting}a prefix with the word drop in it`;
}

const meanings = {
  dropped: 'means dropped',
  rejected: 'means rejected',
  accepted: 'means accepted: makes no Events',
  logged: 'does not show whether the packet is lost: makes no Events',
} as const;
