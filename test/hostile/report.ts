import { alignColumns } from '../../src/cli/describe.ts';
import { comparedIn, type EventLog } from './event-log.ts';
import { healthOf, latenessOf } from './judge.ts';
import type { Round } from './round.ts';

export interface JudgedRound {
  readonly round: Round;
  readonly problems: readonly string[];
}

/** The table of a run. */
export function tableOf(rounds: readonly JudgedRound[], quiet: EventLog): string {
  const head = [
    'attack',
    'objects',
    'peak memory',
    'ends',
    '/healthz p50/p99/max',
    'as seen',
    'CPU',
    'Events',
    'latest',
    'left out',
    '',
  ];
  return alignColumns([head, ...rounds.map((each) => rowOf(each, quiet))]).join('\n');
}

function rowOf({ round, problems }: JudgedRound, quiet: EventLog): string[] {
  const { agent, tenant, events } = round;
  const { p50, p99, max, rawP99 } = healthOf(agent.answers);
  const there = comparedIn(quiet).flatMap(([key, wanted]) => {
    const entry = events.entries.get(key);
    return entry === undefined ? [] : [{ entry, wanted }];
  });
  const latest = Math.max(0, ...there.map(({ entry, wanted }) => latenessOf(round, entry, wanted)));
  return [
    round.attacks.join('+') || 'none',
    `${tenant.objects} (${Math.round(tenant.bytes / 1e6)} MB)`,
    `${Math.round(agent.peakBytes / 2 ** 20)} MiB`,
    agent.oomKills > 0 ? `${agent.ends.length} (${agent.oomKills} OOM)` : String(agent.ends.length),
    `${p50.toFixed(0)}/${p99.toFixed(0)}/${max.toFixed(0)} ms`,
    `${rawP99.toFixed(0)} ms`,
    `${agent.cpuSeconds.toFixed(1)} s`,
    `${there.length} of ${comparedIn(quiet).length}`,
    `${(latest / 1000).toFixed(1)} s`,
    leftOutOf(agent.metrics),
    problems.length === 0 ? 'held' : 'FAILED',
  ];
}

/** Objects that the agent leaves out, by its own account. */
function leftOutOf(metrics: string): string {
  const found = [...metrics.matchAll(/^kube_netfilter_tailer_\w*(?:left_out|omitted)\w*(?:\{[^}]*\})? (\d+)/gm)];
  return found.length === 0 ? '-' : String(found.reduce((sum, [, value]) => sum + Number(value), 0));
}
