/**
 * `npm run bench -- audit`: CPU time and memory of an agent with each sink of the audit, compared with an agent
 * without, at 1,000 and 50,000 drops a second, with a real API server and a real receiver of OTLP (rotel). They run
 * one after another with the same lines. A process of its own writes the lines and prints the rate that it reached.
 *
 *     npm run bench -- audit                                        20 s of each
 *     npm run bench -- audit --seconds 60 --rates 50000 --sinks none,file --flows few
 */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import { alignColumns } from '../../src/cli/describe.ts';
import { buildBundle, bundle } from '../e2e/bundle.ts';
import { startControlPlane } from '../e2e/control-plane/control-plane.ts';
import { createObjects } from '../e2e/control-plane/objects.ts';
import { freePorts } from '../e2e/control-plane/ports.ts';
import { startRotel } from '../e2e/rotel.ts';
import { preparePrograms } from '../programs/install.ts';
import { scratchFolder } from '../soak/scratch-folder.ts';
import type { Flows } from './audit-writer.ts';
import { agentToken, createPods } from './cluster.ts';
import { benchNode } from './pods.ts';
import { firstLine, type Written } from './lines.ts';
import { startAgent } from './readers.ts';

const podsOfNode = 110;
/** Short, so that several intervals close during the measurement. The default is a minute, with fewer rows. */
const interval = 10;
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '20' },
    rates: { type: 'string', default: '1000,50000' },
    flows: { type: 'string', default: 'few,many' },
    sinks: { type: 'string', default: 'none,file,otlp,stdout' },
  },
});

await preparePrograms('measuring');
await buildBundle();
const folder = scratchFolder('bench');
const plane = await startControlPlane();
try {
  const kubeconfig = await plane.writeKubeconfig('agent', await agentToken(plane));
  await createObjects(plane, { items: [benchNode(0)] });
  await createPods(plane, 0, podsOfNode, () => 0);
  const head = ['drops/s', 'reached', 'writer behind', 'flows', 'sink', 'rows', 'lost', 'read after'];
  const rows = [[...head, 'CPU', 'for a million drops', 'of none', 'memory, peak']];
  for (const rate of values.rates.split(',').map(Number))
    for (const flows of values.flows.split(',') as Flows[]) {
      let none = NaN;
      for (const sink of values.sinks.split(',') as Sink[]) {
        const { cpu, written, late, peak, sent, lost } = await measure({ rate, flows, sink, kubeconfig });
        if (sink === 'none') none = cpu;
        rows.push([
          rate.toLocaleString('en-US'),
          Math.round(written.lines / written.seconds).toLocaleString('en-US'),
          `${written.behind.toFixed(0)} ms`,
          flows,
          sink,
          String(sent),
          String(lost),
          `${late.toFixed(1)} s`,
          `${cpu.toFixed(2)} s`,
          `${((cpu / written.lines) * 1e6).toFixed(1)} s`,
          (cpu / none).toFixed(2),
          `${peak} MB`,
        ]);
        console.error(rows.at(-1)?.join('  '));
      }
    }
  console.log(`\n${alignColumns(rows).join('\n')}`);
} finally {
  await plane.stop();
}

type Sink = 'none' | 'file' | 'otlp' | 'stdout';

async function measure(of: { rate: number; flows: Flows; sink: Sink; kubeconfig: string }) {
  const { rate, flows, sink, kubeconfig } = of;
  const own = mkdtempSync(join(folder, 'run-'));
  const log = join(own, 'kern.log');
  const rotel = sink === 'otlp' ? await startRotel(own, await freePorts(2)) : undefined;
  const settings = {
    none: '',
    file: `file:${join(own, 'audit/audit.ndjson')}`,
    otlp: `otlp:${rotel?.url}`,
    stdout: sink,
  };
  writeFileSync(log, firstLine());
  mkdirSync(join(own, 'state'));
  const agent = await startAgent(
    bundle,
    log,
    { kubeconfig, state: join(own, 'state') },
    { AUDIT: settings[sink], AUDIT_INTERVAL: String(interval) },
  );
  const before = agent.cpuSeconds();
  const linesBefore = await agent.metric('lines_total');
  const written = await write(log, rate, flows);
  const ended = performance.now();
  while ((await agent.metric('lines_total')) < linesBefore + written.lines) await delay(100);
  const late = (performance.now() - ended) / 1000;
  // By then the last interval is closed, five seconds after its end, and its rows are sent.
  await delay((interval + 6) * 1000);
  const found = {
    cpu: agent.cpuSeconds() - before,
    written,
    late,
    peak: agent.peakMegabytes(),
    sent: await agent.metric('audit_rows_total', 'result="sent"'),
    lost: await agent.metric('audit_rows_total', 'result="lost"'),
  };
  await agent.stop();
  await rotel?.stop();
  rmSync(own, { recursive: true });
  return found;
}

async function write(log: string, rate: number, flows: Flows): Promise<Written> {
  const options = { log, rate, seconds: values.seconds, flows, pods: podsOfNode };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const { stdout } = await promisify(execFile)(process.execPath, [
    join(import.meta.dirname, 'audit-writer.ts'),
    ...args,
  ]);
  return JSON.parse(stdout) as Written;
}
