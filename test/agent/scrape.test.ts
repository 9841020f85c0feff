import { expect, test } from 'vitest';
import { collectSources } from '../../src/agent/scrape.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';

test('a scrape shows the drops that the kernel has counted by reason, and of a source without such counts none', async () => {
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
