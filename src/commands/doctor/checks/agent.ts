import { documentAt } from '../../../config/docs-url.ts';
import { grantRights } from '../../../kubernetes/rights.ts';
import type { Millis } from '../../../model/log-line.ts';
import { parseListenAddress } from '../../../platform/listen-address.ts';
import { ago } from '../ago.ts';
import { answersOf, type Check } from '../check.ts';
import { type HttpGet, reachableAt } from '../http-get.ts';
import { present, readMetrics, type Sample, total, valuesOf } from '../metrics-text.ts';

/** What the agent that runs beside this says of itself. */
export async function checkAgent(
  metricsAddress: string,
  get: HttpGet,
  isPod: boolean,
  now: () => Millis,
): Promise<Check> {
  const { ok, problem, unknown, warning } = answersOf('agent');
  const where = parseListenAddress(metricsAddress);
  if (where === undefined || where.port === 0)
    return unknown(
      `where an agent listens is not known (METRICS_ADDRESS is ${metricsAddress})`,
      'set METRICS_ADDRESS as it is for the agent',
    );
  const address = reachableAt(where);
  const [ready, metrics] = await Promise.all([get(address, '/readyz'), get(address, '/metrics')]);
  if ('error' in ready || 'error' in metrics) {
    const reason = 'error' in ready ? ready.error : 'error' in metrics ? metrics.error : '';
    if (isPod)
      return warning(
        `none answers at ${address}: ${reason}`,
        "if this is an agent's Pod: its log tells why, or METRICS_ADDRESS is another one here; else run doctor in such a Pod",
      );
    return unknown(
      `none answers at ${address}: ${reason}`,
      'to ask a running agent, run doctor in its Pod: kubectl exec -n kube-netfilter-tailer POD -- kube-netfilter-tailer doctor',
    );
  }
  const samples = readMetrics(metrics.body);
  const summary = `${counts(samples)}${lastTimes(samples, now())}`;
  if (present(samples, 'build_info').length === 0)
    return unknown(`another program listens at ${address}`, 'set METRICS_ADDRESS to a port of its own');
  return judge(samples, ready);

  function judge(all: readonly Sample[], { status, body }: { status: number; body: string }): Check {
    const missing = present(all, 'missing_permission').map(({ labels }) => `${labels['verb']} ${labels['resource']}`);
    const failed = present(all, 'source_state')
      .filter(({ labels }) => labels['state'] === 'failed')
      .map(({ labels }) => labels['source']);
    if (missing.length > 0) return problem(`${summary}; the API server refuses ${missing.join(', ')}`, grantRights);
    if (failed.length > 0)
      return problem(`${summary}; cannot read ${failed.join(', ')}`, 'see the lines that begin with source');
    if (status !== 200)
      return warning(
        `${summary}; not ready: ${body.trim().replaceAll('\n', '; ')}`,
        "it takes some seconds after the start; if it stays, see the line api-server and the agent's log",
      );
    const failures = failuresOf(all);
    if (inForce(all) === false)
      return warning(
        `${summary}; the config file has changed, and what it says does not hold`,
        "see the agent's log for why: it is wrong, cannot be read, or needs a restart",
      );
    if (failures.length > 0)
      return warning(
        `${summary}; ${failures.join('; ')}`,
        `see the agent's log, and ${documentAt('docs/metrics.md')} for what is counted`,
      );
    return ok(summary);
  }
}

function counts(all: readonly Sample[]): string {
  const lost = present(all, 'packets_total').filter(
    ({ labels }) => labels['verdict'] === 'dropped' || labels['verdict'] === 'rejected',
  );
  const writes = present(all, 'event_writes_total').filter(
    ({ labels }) => labels['result'] === 'ok' && labels['verb'] !== 'read',
  );
  const since = all.find(({ name }) => name === 'process_start_time_seconds')?.value;
  const from =
    since === undefined ? '' : ` since ${new Date(since * 1000).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  const counted = [
    [total(present(all, 'lines_total')), 'line read', 'lines read'],
    [total(lost), 'drop', 'drops'],
    [total(writes), 'write of an Event', 'writes of Events'],
  ] as const;
  return `runs${from}: ${counted.map(([count, one, many]) => `${count} ${count === 1 ? one : many}`).join(', ')}`;
}

/** Of what the agent has counted since its start. */
function lastTimes(all: readonly Sample[], time: Millis): string {
  const rows = [
    ['last_drop_timestamp_seconds', 'last drop'],
    ['last_event_timestamp_seconds', 'last Event'],
  ] as const;
  return rows
    .flatMap(([name, what]) => {
      const [sample] = valuesOf(all, name);
      return sample === undefined ? [] : [`, ${what} ${sample.value === 0 ? 'none' : ago(sample.value * 1000, time)}`];
    })
    .join('');
}

function inForce(all: readonly Sample[]): boolean | undefined {
  const [sample] = valuesOf(all, 'config_in_force');
  return sample && sample.value === 1;
}

function failuresOf(all: readonly Sample[]): string[] {
  const rows: [string, string][] = [
    ['state_errors_total', 'failures to keep its state'],
    ['events_abandoned_total', 'Events given up'],
    ['series_uncounted_packets_total', 'drops that no Event tells of'],
    ['lost_records_total', 'log records lost before they were read'],
    ['lost_bytes_total', 'bytes of log lost before they were read'],
  ];
  return rows.flatMap(([name, what]) => {
    const count = total(present(all, name));
    return count === 0 ? [] : [`${count} ${what}`];
  });
}
