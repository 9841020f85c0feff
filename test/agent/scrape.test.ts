import { expect, test } from 'vitest';
import { collectConntrack, collectDrops, collectSources } from '../../src/agent/scrape.ts';
import { createMetrics } from '../../src/agent/telemetry/metrics.ts';

test('a scrape has the drops counted by the kernel by reason, and no such series for a source without counts', async () => {
  const metrics = createMetrics({ version: '0.1.0' });
  const counts = { lines: 3, bytes: 600, tooLong: 0 };
  const dropReasons = new Map([['NO_SOCKET', 1]]);
  const sources = [
    { name: 'journal', state: 'reading', counts },
    { name: 'kernel-drops', state: 'reading', counts, dropReasons: () => dropReasons },
  ] as const;
  collectSources(metrics, sources);
  dropReasons.set('NO_SOCKET', 4).set('SOCKET_RCVBUFF', 2);
  collectSources(metrics, sources);
  const shown = (await metrics.text())
    .split('\n')
    .filter((line) => line.startsWith('kube_netfilter_tailer_kernel_drops'));
  expect(shown).toEqual([
    'kube_netfilter_tailer_kernel_drops_total{reason="NO_SOCKET"} 4',
    'kube_netfilter_tailer_kernel_drops_total{reason="SOCKET_RCVBUFF"} 2',
  ]);
});

test('a scrape has only the workloads that have drops now, however many there were before', async () => {
  const metrics = createMetrics({ version: '0.1.0' });
  const labels = { namespace: 'shop', direction: 'ingress', verdict: 'dropped', reason: 'unknown' } as const;
  for (let job = 0; job < 300; job++) {
    const cells = [{ labels: { ...labels, workload: `job-${job}` }, packets: job, last: 0 }];
    collectDrops(metrics, { cells: () => cells.values() });
  }
  const shown = (await metrics.text())
    .split('\n')
    .filter((line) => line.startsWith('kube_netfilter_tailer_drops_total{'));
  expect(shown).toEqual([expect.stringMatching(/workload="job-299".* 299$/)]);
});

test('a scrape has the level of the connection tracking table, if it is known', async () => {
  const metrics = createMetrics({ version: '0.1.0' });
  const shown = async () => (await metrics.text()).split('\n').filter((line) => /^[^#]*_conntrack_/.test(line));
  collectConntrack(metrics, { level: undefined });
  expect(await shown()).toEqual([]);
  collectConntrack(metrics, { level: { count: 600, max: 1000 } });
  expect(await shown()).toEqual([
    'kube_netfilter_tailer_conntrack_entries 600',
    'kube_netfilter_tailer_conntrack_limit 1000',
  ]);
  collectConntrack(metrics, { level: undefined });
  expect(await shown()).toEqual([]);
});
