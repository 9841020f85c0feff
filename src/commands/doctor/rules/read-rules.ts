import type { Ran, RunProgram } from '../program.ts';
import { readIptablesSave } from './iptables-save.ts';
import type { LogRule, RuleSet } from './log-rule.ts';
import { hidesRules, readNftRuleset } from './nft-ruleset.ts';

/** All rules of this network namespace, as far as the programs that are here show them. */
export interface Rules {
  sets: readonly RuleSet[];
  /** Of nft alone: those of iptables are in `sets`, and perhaps here again. */
  nftLogs: readonly LogRule[];
  /** Whether all rules of the backend were shown. */
  saw: { legacy: boolean; nft: boolean };
  /** Programs that are there and failed. */
  failures: readonly Failure[];
}

/** `{ program: 'iptables-nft-save', reason: 'Permission denied' }` */
export interface Failure {
  program: string;
  reason: string;
}

export interface ReadRulesOptions {
  run: RunProgram;
  /** Content of a file, or undefined when it cannot be read; '' when there is none. */
  readFile: (path: string) => string | undefined;
}

/** Tables of the legacy backend in this network namespace; there only when its module is loaded. */
const legacyTables = ['/proc/net/ip_tables_names', '/proc/net/ip6_tables_names'];

export async function readRules({ run, readFile }: ReadRulesOptions): Promise<Rules> {
  const failures: Failure[] = [];
  const [legacy, nft, plain, ruleset] = await Promise.all([
    both('iptables-legacy-save', 'ip6tables-legacy-save'),
    both('iptables-nft-save', 'ip6tables-nft-save'),
    both('iptables-save', 'ip6tables-save'),
    run('nft', ['list', 'ruleset']),
  ]);
  note('nft', ruleset);
  const sets: RuleSet[] = [...setsOf(legacy, 'legacy'), ...setsOf(nft, 'nft')];
  // Where both backends have programs of their own names, the plain name is a link to one of them.
  const backend = await backendOf();
  if (backend !== undefined && !sets.some((set) => set.backend === backend)) sets.push(...setsOf(plain, backend));
  const hasNoLegacy = legacyTables.every((path) => readFile(path)?.trim() === '');

  return {
    sets,
    nftLogs: ruleset.kind === 'done' ? readNftRuleset(ruleset.output) : [],
    saw: {
      legacy: hasNoLegacy || sets.filter((set) => set.backend === 'legacy').length === 2,
      nft: ruleset.kind === 'done' && (!hidesRules(ruleset.output) || sets.some((set) => set.backend === 'nft')),
    },
    failures,
  };

  async function both(...programs: readonly [string, string]): Promise<Ran[]> {
    const outcomes = await Promise.all(programs.map((program) => run(program, ['--counters'])));
    for (const [index, outcome] of outcomes.entries()) note(programs[index] ?? '', outcome);
    return outcomes;
  }

  function note(program: string, outcome: Ran): void {
    if (outcome.kind === 'failed')
      failures.push({ program, reason: outcome.reason.replace(/^ip6?tables\S* v[\d.]+ \(\w+\): /, '') });
  }

  async function backendOf(): Promise<RuleSet['backend'] | undefined> {
    if (plain.every(({ kind }) => kind !== 'done')) return undefined;
    const version = await run('iptables-save', ['--version']);
    if (version.kind !== 'done') return undefined;
    // Before 1.8 there was only one.
    return version.output.includes('nf_tables') ? 'nft' : 'legacy';
  }
}

function setsOf(outcomes: readonly Ran[], backend: RuleSet['backend']): RuleSet[] {
  return outcomes.flatMap((outcome) => (outcome.kind === 'done' ? [readIptablesSave(outcome.output, backend)] : []));
}

/** Each target and prefix once, its packets added up. */
export function distinctLogs({ sets, nftLogs }: Rules): LogRule[] {
  const found = new Map<string, LogRule>();
  const ofIptables = new Set(sets.filter(({ backend }) => backend === 'nft').flatMap(({ logs }) => logs.map(keyOf)));
  const others = nftLogs.filter((rule) => !ofIptables.has(keyOf(rule)));
  for (const rule of [...sets.flatMap(({ logs }) => logs), ...others]) {
    const known = found.get(keyOf(rule));
    const packets = known === undefined ? rule.packets : sum(known.packets, rule.packets);
    found.set(keyOf(rule), { ...rule, packets });
  }
  return [...found.values()];
}

function keyOf({ target, prefix, group }: LogRule): string {
  return `${target} ${group ?? ''} ${prefix}`;
}

function sum(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : a + b;
}
