/**
 * `npm run bench -- throughput`: lines of a file that `run` reads for each second of its CPU time, without the
 * start, with a real API server; in turns with other bundles and kube-iptables-tailer. Needs root for
 * kube-iptables-tailer.
 *
 *     npm run bench -- throughput                                  the built bundle
 *     npm run bench -- throughput --against FILE.cjs            compared with another bundle
 *     PEER=/path/to/kube-iptables-tailer npm run bench -- throughput
 *     npm run bench -- throughput --rounds 3 --megabytes 50     less; by default 5 of 100 MB
 *     npm run bench -- throughput --log 'drops only'            one of its logs
 *     npm run bench -- throughput --pods 20000                  this many Pods in all, most of them on other nodes; POD_CACHE is the agent's
 */
import { copyFileSync, createReadStream, createWriteStream, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { alignColumns } from '../../src/cli/describe.ts';
import { buildBundle, bundle } from '../e2e/bundle.ts';
import { startControlPlane } from '../e2e/control-plane/control-plane.ts';
import { createObjects } from '../e2e/control-plane/objects.ts';
import { preparePrograms } from '../programs/install.ts';
import { scratchFolder } from '../soak/scratch-folder.ts';
import { agentToken, createPods } from './cluster.ts';
import { benchNode } from './pods.ts';
import { median } from './quantile.ts';
import { firstLine, type LogKind, writeLog } from './lines.ts';
import { type Reader, startAgent, startPeer } from './readers.ts';

const podsOfNode = 110;
const { values } = parseArgs({
  options: {
    against: { type: 'string', multiple: true, default: [] },
    rounds: { type: 'string', default: '5' },
    megabytes: { type: 'string', default: '100' },
    log: { type: 'string' },
    pods: { type: 'string', default: '0' },
  },
});
const { PEER: peer, POD_CACHE } = process.env;
const settings = POD_CACHE === undefined ? {} : { POD_CACHE };
const kinds: readonly LogKind[] = ['1 drop in 10', 'drops only', 'each drop of another flow'];

await preparePrograms('measuring');
const folder = scratchFolder('bench');
await buildBundle();
// Another build may replace it during the run.
copyFileSync(bundle, join(folder, 'this.cjs'));
const plane = await startControlPlane();
try {
  const token = await agentToken(plane);
  const account = join(folder, 'account');
  mkdirSync(account);
  writeFileSync(join(account, 'token'), token);
  writeFileSync(join(account, 'ca.crt'), plane.certificateAuthority);
  const kubeconfig = await plane.writeKubeconfig('agent', token);
  await createObjects(plane, { items: [benchNode(0)] });
  await createPods(plane, 0, podsOfNode, () => 0);
  await createPods(plane, podsOfNode, Number(values.pods), (number) => Math.floor(number / podsOfNode));
  const rows = [['log', 'reader', 'lines/s of CPU, median', 'least, most', 'of the last', 'memory, peak']];
  for (const kind of kinds.filter((each) => values.log === undefined || values.log === each)) {
    const names = [
      'this',
      ...values.against,
      ...(peer !== undefined && kind !== 'each drop of another flow' ? [peer] : []),
    ];
    const readers: { name: string; log: string; reader: Reader; rates: number[] }[] = [];
    for (const [index, name] of names.entries()) {
      const log = join(folder, `${kinds.indexOf(kind)}-${index}.log`);
      writeFileSync(log, firstLine());
      const file = values.against.includes(name) ? name : join(folder, 'this.cjs');
      const reader =
        name === peer
          ? await startPeer(name, log, { account, server: new URL(plane.server) })
          : await startAgent(file, log, { kubeconfig, state: mkdtempSync(join(folder, 'state-')) }, settings);
      readers.push({ name, log, reader, rates: [] });
    }
    for (let round = 0; round < Number(values.rounds); round++) {
      const written = join(folder, 'next.log');
      const lines = writeLog(written, kind, Number(values.megabytes) * 1e6, podsOfNode);
      for (const { name, log, reader, rates } of readers) {
        const before = reader.cpuSeconds();
        const done = reader.untilRead(lines);
        await pipeline(createReadStream(written), createWriteStream(log, { flags: 'a' }));
        await done;
        rates.push(lines / (reader.cpuSeconds() - before));
        console.error(`${kind}, ${name}: ${format(rates.at(-1) ?? NaN)} lines/s`);
      }
    }
    const last = median(readers.at(-1)?.rates ?? []);
    for (const { name, reader, rates } of readers) {
      const ratio = `${(median(rates) / last).toFixed(2)} times`;
      const span = `${format(Math.min(...rates))}, ${format(Math.max(...rates))}`;
      rows.push([kind, name, format(median(rates)), span, ratio, `${reader.peakMegabytes()} MB`]);
      await reader.stop();
    }
  }
  console.log(`\n${alignColumns(rows).join('\n')}`);
} finally {
  await plane.stop();
}

function format(rate: number): string {
  return Math.round(rate).toLocaleString('en-US');
}
