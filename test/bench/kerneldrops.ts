/**
 * `npm run bench -- kerneldrops`: what the source `kernel-drops` costs, in a guest with a kernel of Debian, with the
 * bundle at a real API server. The only processor of the guest takes a nanosecond for each instruction, however busy
 * this machine is. Needs root.
 *
 *     npm run bench -- kerneldrops --linux 6.12                another version; by default 6.1
 *     npm run bench -- kerneldrops --packets 20000 --runs 3    by default one run of 100,000 of each kind
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { alignColumns } from '../../src/cli/describe.ts';
import { imageCommand } from '../deploy/image-command.ts';
import { createAgentRig, nodeObject, podObject } from '../e2e/agent-rig.ts';
import { buildBundle, bundle } from '../e2e/bundle.ts';
import { startControlPlane } from '../e2e/control-plane/control-plane.ts';
import { createObjects } from '../e2e/control-plane/objects.ts';
import { networkPrograms, runMachine } from '../e2e/kernel-drops/machine.ts';
import { bundleFile, kubeconfigFile, sceneFile, sceneOf } from '../e2e/kernel-drops/scene.ts';
import { preparePrograms } from '../programs/install.ts';
import { scratchFolder } from '../soak/scratch-folder.ts';
import { median } from './quantile.ts';

const { values } = parseArgs({
  options: {
    linux: { type: 'string', default: '6.1' },
    packets: { type: 'string', default: '100000' },
    runs: { type: 'string', default: '1' },
  },
});
const order = {
  packets: Number(values.packets),
  runs: Number(values.runs),
  rates: [100, 1000, 2000, 3000, 5000, 10_000],
  seconds: 5,
};
const modules = 'crc32c_generic veth iptable_filter xt_tcpudp virtio_pci virtio_net pktgen dummy'.split(' ');

await preparePrograms('measuring');
await buildBundle();
const folder = scratchFolder('bench');
const plane = await startControlPlane();
try {
  const rig = await createAgentRig(plane);
  const { flags, allocator } = imageCommand();
  const scene = sceneOf(plane.server, { flags, env: allocator });
  const { namespace, node } = scene;
  const pods = scene.pods.map(({ name, address }) => podObject({ namespace, name, node, addresses: [address] }));
  await createObjects(plane, { items: [nodeObject(node, '10.0.2.15'), ...pods] });
  const text = await runMachine({
    version: values.linux,
    modules,
    programs: { ...networkPrograms(), [bundleFile]: bundle },
    program: join(import.meta.dirname, 'kerneldrops-guest.ts'),
    texts: {
      [sceneFile]: JSON.stringify(scene),
      [kubeconfigFile]: readFileSync(rig.kubeconfig, 'utf8'),
      '/bench.json': JSON.stringify(order),
    },
    // With several processors, each instruction would count for all of them.
    processors: '-accel tcg,thread=single -smp 1 -icount shift=0',
    folder,
  });
  report(text);
  for (const { involvedObject, count, message } of await rig.events(namespace))
    console.log(`\n${involvedObject.name}, ${count}: ${message}`);
} finally {
  await plane.stop();
}

interface Printed {
  packet: { probe: string; kind: string; each: number };
  rate: { rate: number; real: number; cpu: number; count: number; counted: number; lost: number };
  flood: { count: number; seconds: number; share: number; health: number[]; counted: number; lost: number };
}

function report(text: string): void {
  const printed = Array.from(text.matchAll(/^@(\w+) (.*)$/gm), ([, kind = '', json = '']) => ({
    kind,
    value: JSON.parse(json) as unknown,
  }));
  if (printed.at(-1)?.kind !== 'end') throw new Error(`the guest did not come to its end: ${text.slice(-3000)}`);
  const of = <Kind extends keyof Printed>(kind: Kind): Printed[Kind][] =>
    printed.flatMap((each) => (each.kind === kind ? [each.value as Printed[Kind]] : []));
  for (const { kind, value } of printed)
    if (['failed', 'notice', 'kernel', 'first', 'idle'].includes(kind)) console.log(kind, value);

  const kernel = Map.groupBy(of('packet'), ({ probe, kind }) => `${kind}, probe ${probe}`);
  const rows = [...kernel].map(([what, all]) => [what, median(all.map(({ each }) => each)).toFixed(0)]);
  console.log(alignColumns([['a packet', 'instructions'], ...rows]).join('\n'));
  const rates = of('rate').map(({ rate, real, cpu, count, counted, lost }) =>
    [rate, real.toFixed(0), counted, lost, `${((cpu / count) * 1e6).toFixed(1)} µs`].map(String),
  );
  console.log(alignColumns([['drops/s', 'sent/s', 'counted', 'lost', 'agent, each'], ...rates]).join('\n'));
  for (const { share, health, ...flood } of of('flood'))
    console.log('flood', flood, `agent ${(share * 100).toFixed(0)} %, /healthz in ms: ${health.join(' ')}`);
}
