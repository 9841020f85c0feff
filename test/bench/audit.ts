/**
 * `npm run bench:audit`: CPU time and memory of an agent with each sink of the audit, beside one without, at 1,000 and 50,000 drops a second,
 * against a real API server. One after another, each with the same lines.
 *
 *     npm run bench:audit                    20 s of each
 *     npm run bench:audit -- --seconds 60
 *     npm run bench:audit -- --rates 50000
 */
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { alignColumns } from '../../src/events/describe.ts';
import { startControlPlane } from '../e2e/control-plane/control-plane.ts';
import { createObjects } from '../e2e/control-plane/objects.ts';
import { preparePrograms } from '../programs/path.ts';
import { agentToken, createPods } from './cluster.ts';
import { benchNode } from './pods.ts';
import { firstLine, writeLiveLog } from './throughput/lines.ts';
import { startAgent } from './throughput/readers.ts';

const root = join(import.meta.dirname, '../..');
const podsOfNode = 110;
/** About so many lines are written at once. */
const chunkSize = 1 << 20;
const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '20' }, rates: { type: 'string', default: '1000,50000' } },
});

await preparePrograms('measuring');
const folder = mkdtempSync(join(tmpdir(), 'kube-netfilter-tailer-bench-'));
execFileSync(process.execPath, [join(root, 'scripts/build.mjs')], { cwd: root, stdio: 'inherit' });
const receiver = createServer((request, response) => {
  request.resume().on('end', () => response.end());
});
await new Promise<void>((resolve) => void receiver.listen(0, '127.0.0.1', resolve));
const plane = await startControlPlane();
try {
  const kubeconfig = await plane.writeKubeconfig('agent', await agentToken(plane));
  await createObjects(plane, { items: [benchNode(0)] });
  await createPods(plane, 0, podsOfNode, () => 0);
  const sinks = {
    none: '',
    file: `file:${join(folder, 'audit/audit.ndjson')}`,
    otlp: `otlp:http://127.0.0.1:${(receiver.address() as AddressInfo).port}`,
    stdout: 'stdout',
  };
  const rows = [['drops/s', 'sink', 'CPU for a million drops', 'of none', 'memory, peak']];
  for (const rate of values.rates.split(',').map(Number)) {
    let none = NaN;
    for (const [name, audit] of Object.entries(sinks)) {
      const { cpu, lines, peak } = await measure(rate, audit, kubeconfig);
      const each = (cpu / lines) * 1e6;
      if (name === 'none') none = each;
      rows.push([rate.toLocaleString('en-US'), name, `${each.toFixed(1)} s`, (each / none).toFixed(2), `${peak} MB`]);
      console.error(rows.at(-1)?.join('  '));
    }
  }
  console.log(`\n${alignColumns(rows).join('\n')}`);
} finally {
  receiver.closeAllConnections();
  receiver.close();
  await plane.stop();
  rmSync(folder, { recursive: true });
}

async function measure(rate: number, audit: string, kubeconfig: string) {
  const log = join(folder, `${rate}.log`);
  const chunk = join(folder, 'chunk.log');
  writeFileSync(log, firstLine());
  const state = mkdtempSync(join(folder, 'state-'));
  const reader = await startAgent(
    join(root, 'dist/kube-netfilter-tailer.cjs'),
    log,
    { kubeconfig, state },
    {
      AUDIT: audit,
      // So that several intervals are closed while it is measured; by default it is a minute, and there are fewer rows.
      AUDIT_INTERVAL: '10',
    },
  );
  const before = reader.cpuSeconds();
  const start = performance.now();
  let lines = 0;
  while (lines < rate * Number(values.seconds)) {
    const written = writeLiveLog(chunk, 'drops only', chunkSize, podsOfNode);
    const read = reader.untilRead(written);
    appendFileSync(log, readFileSync(chunk));
    await read;
    lines += written;
    await delay(Math.max(0, start + (lines / rate) * 1000 - performance.now()));
  }
  // The last interval is closed and sent.
  await delay(12_000);
  const found = { cpu: reader.cpuSeconds() - before, lines, peak: reader.peakMegabytes() };
  await reader.stop();
  return found;
}
