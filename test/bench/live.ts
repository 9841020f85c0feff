/**
 * `npm run bench -- live`: what a dropped packet costs, for each live source: CPU time of the agent's bundle and of
 * its journalctl, with a real API server, and the time from a line being logged to its being handed over. The lines
 * are a real kernel's; this program writes those of the file. Needs root on Linux.
 *
 *     npm run bench -- live                                     100, 1,000 and 10,000 lines/s for 10 s each
 *     npm run bench -- live --rates 100,1000 --seconds 20
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { alignColumns } from '../../src/cli/describe.ts';
import type { AgentProcess } from '../e2e/agent-process.ts';
import { type AgentRig, createAgentRig, nodeObject, podObject } from '../e2e/agent-rig.ts';
import { buildBundle } from '../e2e/bundle.ts';
import { startControlPlane } from '../e2e/control-plane/control-plane.ts';
import { createObjects } from '../e2e/control-plane/objects.ts';
import { startJournald } from '../e2e/journal/rig.ts';
import { run } from '../e2e/network/command.ts';
import { createNetwork } from '../e2e/network/network.ts';
import { datagrams } from '../e2e/network/sending.ts';
import { preparePrograms } from '../programs/install.ts';
import { counterOf } from '../soak/agents/agents.ts';
import { scratchFolder } from '../soak/scratch-folder.ts';
import { startProgram } from '../soak/trial.ts';
import { writeAtRate } from './lines.ts';
import { quantile } from './quantile.ts';
import { childrenOf, processorTimeOf } from './used.ts';

const { values } = parseArgs({
  options: {
    rates: { type: 'string', default: '100,1000,10000' },
    seconds: { type: 'string', default: '10' },
    sources: { type: 'string', default: 'file,kernel,journal' },
  },
});
const rates = values.rates.split(',').map(Number);
const seconds = Number(values.seconds);
const node = 'bench-live';
const web = { namespace: 'bench', name: 'web', addresses: ['10.99.7.10'] };
const db = { namespace: 'bench', name: 'db', addresses: ['10.99.7.20'] };
/** By then the last lines are read, the agent's start is over, and V8 has collected garbage for about ten seconds. */
const settling = 20_000;

await preparePrograms('e2e');
await buildBundle();
const folder = scratchFolder('live');
const plane = await startControlPlane();
const journald = await startJournald();
const network = await createNetwork({ backend: 'iptables-nft', pods: [web, db] });
const log = join(folder, 'kern.log');
const settings = { file: `file:${log}`, kernel: 'kernel', journal: `journal:${journald.directory}` };
type Name = keyof typeof settings;
try {
  await network.refuse();
  appendFileSync(log, '');
  const rig = await createAgentRig(plane);
  await createObjects(plane, { items: [nodeObject(node, '192.0.2.1'), ...[web, db].map(podOf)] });
  const rows = [['source', 'lines/s', 'agent', 'of it as at rest', 'journalctl', 'lost', 'p50', 'p99']];
  for (const name of values.sources.split(',') as Name[]) rows.push(...(await measure(name, rig)));
  console.log(`\n${alignColumns(rows).join('\n')}`);
  console.log('agent, journalctl: µs of CPU for a line; p50, p99: ms from being logged to being handed over');
} finally {
  await Promise.all([network.destroy(), journald.stop()]);
  await plane.stop();
}
process.exit();

function podOf(pod: typeof web) {
  return podObject({ ...pod, node });
}

async function measure(name: Name, rig: AgentRig): Promise<string[][]> {
  console.error(`${name} …`);
  const agent = rig.start({ NODE_NAME: node, SOURCES: settings[name], PATH: process.env['PATH'] ?? '' });
  const rows: string[][] = [];
  try {
    await agent.untilReady();
    // Warms up the agent's code: on a node that logs much it has run for long.
    await logLines(name, 2000, 5);
    await delay(settling);
    const pid = agent.pid as number;
    const rest = await usedWhile(pid, () => delay(seconds * 1000));
    rows.push([
      name,
      'at rest',
      `${(rest.agent * 1e3).toFixed(2)} ms/s`,
      '',
      `${(rest.journalctl * 1e3).toFixed(2)} ms/s`,
      '',
      '',
      '',
    ]);
    for (const rate of rates) {
      const before = await countsOf(agent);
      const used = await usedWhile(pid, async () => {
        await logLines(name, rate);
        await delay(1000);
      });
      const after = await countsOf(agent);
      const lines = rate * seconds;
      const micros = (time: number): string => ((time * used.duration * 1e6) / lines).toFixed(1);
      if (after.lines - before.lines < lines - (after.lost - before.lost))
        console.error(`${name}: ${after.lines - before.lines} lines were read of ${lines}`);
      const [p50, p99] = await latency(name, rate);
      rows.push([
        name,
        rate.toLocaleString('en-US'),
        micros(used.agent),
        micros(rest.agent),
        name === 'journal' ? micros(used.journalctl) : '',
        String(after.lost - before.lost),
        String(p50),
        String(p99),
      ]);
    }
  } finally {
    await agent.kill();
  }
  return rows;
}

interface Used {
  /** Both figures are per second. */
  agent: number;
  journalctl: number;
  duration: number;
}

async function usedWhile(pid: number, act: () => Promise<unknown>): Promise<Used> {
  const look = (): number[] => [pid, ...childrenOf(pid)].map(processorTimeOf);
  const [before, began] = [look(), performance.now()];
  await act();
  const duration = (performance.now() - began) / 1000;
  const [agent = 0, journalctl = 0] = look().map((after, index) => (after - (before[index] ?? 0)) / duration);
  return { agent, journalctl, duration };
}

async function countsOf(agent: AgentProcess): Promise<{ lines: number; lost: number }> {
  return { lines: await counterOf(agent, 'lines_total'), lost: await counterOf(agent, 'lost_records_total') };
}

async function logLines(name: Name, rate: number, duration = seconds): Promise<void> {
  if (name === 'file') return await writeLines(rate, duration);
  const args = [db.addresses[0] as string, '5000', String(rate * duration), String(rate)];
  const namespace = network.namespaceOf('bench/web');
  await run('ip', ['netns', 'exec', namespace, process.execPath, datagrams, ...args]);
}

/** Writes the lines of the same packets as rsyslog writes the kernel's. */
async function writeLines(rate: number, duration: number): Promise<void> {
  let id = 0;
  const nextLine = (): string =>
    `${new Date().toISOString()} ${node} kernel: calico-drop: IN=${network.deviceOf('bench/web')} OUT=${network.deviceOf('bench/db')} ` +
    `MAC=ee:ee:ee:ee:ee:ee:3e:86:72:55:6d:2b:08:00 SRC=${web.addresses[0]} DST=${db.addresses[0]} LEN=28 TOS=0x00 PREC=0x00 TTL=63 ` +
    `ID=${id++ % 65_536} DF PROTO=UDP SPT=40549 DPT=5000 LEN=8 \n`;
  await writeAtRate(log, nextLine, rate, duration);
}

/** The times within which half and 99 % of the lines were handed over. */
async function latency(name: Name, rate: number): Promise<[number, number]> {
  const reader = join(import.meta.dirname, 'live-reader.ts');
  const program = startProgram([reader, settings[name], `SRC=${web.addresses[0]}`]);
  await program.untilLog(() => true);
  await delay(1000);
  await logLines(name, rate);
  await delay(2000);
  program.signal('SIGTERM');
  await program.untilExit();
  const { took } = program.log.at(-1) as unknown as { took: number[] };
  return [Math.round(quantile(took, 0.5)), Math.round(quantile(took, 0.99))];
}
