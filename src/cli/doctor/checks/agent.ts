import { documentAt } from '../../../agent/config/docs-url.ts';
import { grantRights } from '../../../agent/kubernetes/kubernetes.ts';
import type { Millis } from '../../../base/model/log-line.ts';
import { prefix } from '../../../agent/telemetry/metric-table.ts';
import type { CheckInput } from '../facts.ts';
import { ago, answersOf, type Check } from '../report.ts';
import { plural } from '../../terminal.ts';

interface Sample {
  name: string;
  labels: Readonly<Record<string, string>>;
  value: number;
}

export function checkAgent({ config, agent, isPod, now }: CheckInput): Check {
  const { ok, problem, unknown, warning } = answersOf('agent');
  if (agent.kind === 'nowhere')
    return unknown(
      `where an agent listens is not known (METRICS_ADDRESS is ${config.metricsAddress})`,
      'set METRICS_ADDRESS as it is for the agent',
    );
  const { address } = agent;
  if (agent.kind === 'silent')
    return isPod
      ? warning(
          `none answers at ${address}: ${agent.reason}`,
          "if this is an agent's Pod: its log tells why, or METRICS_ADDRESS is another one here; else run doctor in such a Pod",
        )
      : unknown(
          `none answers at ${address}: ${agent.reason}`,
          'to ask a running agent, run doctor in its Pod: kubectl exec -n kube-netfilter-tailer POD -- kube-netfilter-tailer doctor',
        );
  const all = readMetrics(agent.metrics);
  if (present(all, 'build_info').length === 0)
    return unknown(`another program listens at ${address}`, 'set METRICS_ADDRESS to a port of its own');
  const summary = `${counts(all)}${lastTimes(all, now)}`;
  const missing = present(all, 'missing_permission').map(({ labels }) => `${labels['verb']} ${labels['resource']}`);
  if (missing.length > 0) return problem(`${summary}; the API server refuses ${missing.join(', ')}`, grantRights);
  const states = present(all, 'source_state').filter(({ labels }) => labels['state'] === 'failed');
  const failed = states.map(({ labels }) => labels['source']);
  if (failed.length > 0)
    return problem(`${summary}; cannot read ${failed.join(', ')}`, 'see the lines that begin with source');
  if (agent.status !== 200)
    return warning(
      `${summary}; not ready: ${agent.readiness.trim().replaceAll('\n', '; ')}`,
      "it takes some seconds after the start; if it stays, see the line api-server and the agent's log",
    );
  const [inForce] = valuesOf(all, 'config_in_force');
  if (inForce !== undefined && inForce.value !== 1)
    return warning(
      `${summary}; the config file has changed, and what it says does not hold`,
      "see the agent's log for why: it is wrong, cannot be read, or needs a restart",
    );
  const failures = failureRows.flatMap(([name, what]) => {
    const count = total(all, name);
    return count === 0 ? [] : [`${count} ${what}`];
  });
  if (failures.length > 0)
    return warning(
      `${summary}; ${failures.join('; ')}`,
      `see the agent's log, and ${documentAt('docs/metrics.md')} for what is counted`,
    );
  return ok(summary);
}

/** Empty if no agent answers, because the check of the agent reports that. */
export function checkMemory({ agent }: CheckInput): Check[] {
  const { ok, warning } = answersOf('memory');
  const all = agent.kind === 'answers' ? readMetrics(agent.metrics) : [];
  const [limit] = valuesOf(all, 'kept_bytes_limit');
  if (limit === undefined) return [];
  const kept = `what is kept of API objects takes ${mebibytes(total(all, 'kept_bytes'))} of ${mebibytes(limit.value)} MiB`;
  // Deleted objects are missing only for late packets.
  const leftOut = present(all, 'left_out_objects').filter(({ labels }) => labels['resource'] !== 'tombstones');
  if (leftOut.length === 0) return [ok(kept)];
  return [
    warning(
      `${kept}; left out: ${leftOut.map(({ labels, value }) => `${value} ${labels['resource']}`).join(', ')}`,
      `what needs them is unknown: the agent's log names the Namespace that has the most; delete what it does not need, or raise the memory limit of the container (${documentAt('docs/performance.md')})`,
    ),
  ];
}

function mebibytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1);
}

const failureRows = [
  ['state_errors_total', 'failures to keep its state'],
  ['events_abandoned_total', 'Events given up'],
  ['series_uncounted_packets_total', 'drops that no Event tells of'],
  ['lost_records_total', 'log records lost before they were read'],
  ['lost_bytes_total', 'bytes of log lost before they were read'],
] as const;

function counts(all: readonly Sample[]): string {
  const drops = total(all, 'packets_total', ({ verdict }) => verdict === 'dropped' || verdict === 'rejected');
  const writes = total(all, 'event_writes_total', ({ result, verb }) => result === 'ok' && verb !== 'read');
  const since = all.find(({ name }) => name === 'process_start_time_seconds')?.value;
  const from =
    since === undefined ? '' : ` since ${new Date(since * 1000).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  const lines = total(all, 'lines_total');
  const written = `${writes} ${writes === 1 ? 'write of an Event' : 'writes of Events'}`;
  return `runs${from}: ${plural(lines, 'line')} read, ${plural(drops, 'drop')}, ${written}`;
}

function lastTimes(all: readonly Sample[], now: Millis): string {
  const rows = [
    ['last_drop_timestamp_seconds', 'last drop'],
    ['last_event_timestamp_seconds', 'last Event'],
  ] as const;
  return rows
    .flatMap(([name, what]) => {
      const [sample] = valuesOf(all, name);
      return sample === undefined ? [] : [`, ${what} ${sample.value === 0 ? 'none' : ago(sample.value * 1000, now)}`];
    })
    .join('');
}

/** Reads lines `name{label="value",…} value` of the Prometheus text format 0.0.4. */
export function readMetrics(text: string): Sample[] {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? ([^ ]+)(?: -?\d+)?$/.exec(line) ?? [];
    if (name === undefined) return [];
    const pairs = [...labels.matchAll(/(?<!\w)(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', raw = '']) => [
      key,
      raw.replace(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped)),
    ]);
    return [{ name, labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) }];
  });
}

function valuesOf(all: readonly Sample[], name: string): Sample[] {
  return all.filter((sample) => sample.name === prefix + name);
}

function present(all: readonly Sample[], name: string): Sample[] {
  return valuesOf(all, name).filter(({ value }) => value !== 0);
}

function total(
  all: readonly Sample[],
  name: string,
  isMeant: (labels: Sample['labels']) => boolean = () => true,
): number {
  return valuesOf(all, name).reduce((sum, { labels, value }) => (isMeant(labels) ? sum + value : sum), 0);
}
