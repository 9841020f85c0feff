import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import type { Martian } from '../../../src/base/model/observation.ts';
import type { PacketObservation } from '../../../src/base/model/packet.ts';
import { createPrefixTable, parse } from '../../../src/read/parsing/parsing.ts';
import { imageCommand } from '../../deploy/image-command.ts';
import { type AgentRig, createAgentRig, nodeObject, podObject, sumOf } from '../agent-rig.ts';
import { bundle } from '../bundle.ts';
import { connect } from '../control-plane/connection.ts';
import type { KubernetesObject } from '../control-plane/creatable.ts';
import { createOwnFolder } from '../own-folder.ts';
import { createInQuietHours } from '../quiet-hours.ts';
import { cases } from './cases.ts';
import { type Flood, flooded } from './floods.ts';
import { networkPrograms, runMachine } from './machine.ts';
import { bundleFile, kubeconfigFile, type Scene, sceneFile, sceneOf, sentPackets } from './scene.ts';

/**
 * The source of the kernel's own records of drops, in kernels of Debian: which packets it reports, and what it says
 * about them. In one kernel the agent uses this source and is killed once; in the other, Pods flood it.
 */

const controlPlane = connect(inject('controlPlane'));

const prefixes = createPrefixTable();
/** The modules that these depend on are also loaded. The first is listed because only another module's code asks for it. */
const modules = (
  'crc32c_generic veth bridge vxlan iptable_filter iptable_raw iptable_mangle ip6table_filter xt_tcpudp ipt_REJECT xfrm_user ' +
  'sch_ingress cls_u32 act_gact nf_tables nft_meta_bridge xt_length virtio_pci virtio_net'
).split(' ');
const { flags, allocator } = imageCommand();
const scene = sceneOf(controlPlane.server, { flags, env: allocator });
const withAgent = '6.12';
const nothing = { instances: [], probes: '', groups: [] };
let rig: AgentRig;

beforeAll(async () => {
  rig = await createAgentRig(controlPlane);
  await createInQuietHours(controlPlane, [nodeObject(scene.node, '10.0.2.15'), ...podsOf(scene)]);
});

describe.concurrent.each(['6.1', withAgent])('Linux %s', (version) => {
  let printed: { kind: string; value: unknown }[] = [];

  beforeAll(async () => {
    const files = { [sceneFile]: JSON.stringify(scene), [kubeconfigFile]: readFileSync(rig.kubeconfig, 'utf8') };
    const text = await runMachine({
      version,
      modules,
      programs: { ...networkPrograms(), [bundleFile]: bundle },
      program: join(import.meta.dirname, 'guest.ts'),
      texts: version === withAgent ? files : {},
      folder: createOwnFolder(`linux-${version}`),
    });
    printed = Array.from(text.matchAll(/^@(\w+) (.*)$/gm), ([, kind = '', json = '']) => ({
      kind,
      value: JSON.parse(json) as unknown,
    }));
    if (printed.at(-1)?.kind !== 'end') throw new Error(`the guest did not come to its end: ${text.slice(-3000)}`);
  }, 1_500_000);

  const valuesOf = (kind: string): unknown[] => printed.flatMap((each) => (each.kind === kind ? [each.value] : []));
  const seen = (): ReadonlySet<string> =>
    new Set((valuesOf('line') as string[]).map(meaningOf).filter((each) => each !== refused));

  test('the kernel is of that version, and everything could be tried', () => {
    expect(valuesOf('kernel')[0]).toMatch(new RegExp(String.raw`^${version.replace('.', String.raw`\.`)}[.\d]*[-+]`));
    expect(valuesOf('failed')).toEqual([]);
    expect(valuesOf('notice')).toEqual([]);
    expect(valuesOf('obstacle')).toEqual(['none']);
  });

  test.each(cases.flatMap((each) => (each.seen === undefined ? [] : [[each.name, each.seen]])))(
    '%s is told',
    (_, expected) => expect([...seen()]).toContain(expected),
  );

  test('nothing else is reported: no drop within a Pod, and no closed port', () => {
    const expected = new Set(cases.map((each) => each.seen));
    expect([...seen()].filter((each) => !expected.has(each))).toEqual([]);
  });

  test('nothing is lost, and nothing is left behind by any of them', () => {
    expect(valuesOf('lost')).toEqual([]);
    expect(valuesOf('left')).toEqual([nothing, nothing]);
  });

  test.each(version === withAgent ? [] : [flooded.honest])(
    'a Pod that floods one buffer overwrites none of %i lines of another Pod in the other buffer',
    (honest) => {
      const floods = ['drops', 'connections'].map((kind) => valuesOf(kind)[0] as Flood);
      expect(floods.map(({ read }) => read)).toEqual([1, 1 + honest]);
      for (const { overwritten } of floods) expect(overwritten).toBeGreaterThan(1000);
    },
  );

  if (version !== withAgent) return;

  test('an agent takes over the probe and the buffer of one that was killed, and both count each packet once', async () => {
    expect(valuesOf('ended')).toEqual([
      [null, 'SIGKILL'],
      [0, null],
    ]);
    expect(valuesOf('between')).toEqual([
      { instances: ['kube_netfilter_tailer_connects', 'kube_netfilter_tailer_drops'], probes: 2 },
      { instances: ['kube_netfilter_tailer_connects', 'kube_netfilter_tailer_drops'], probes: 2 },
    ]);
    const events = await rig.events(scene.namespace);
    // A slow guest may run into the next hour of the Events, in which there are other Events.
    expect(['cart', 'web', 'other'].map((name) => sumOf(events, name))).toEqual([sentPackets, sentPackets, 0]);
  });
});

/** The Pods as the API server has them. */
function podsOf({ namespace, node, pods }: Scene): KubernetesObject[] {
  return pods.map(({ name, address }) => podObject({ namespace, name, node, addresses: [address] }));
}

/** Before the first line has come, the kernel does not know which namespaces to leave out. */
const refused = 'unparsable';

function meaningOf(text: string): string {
  const observation = parse(text, prefixes, 'kernel', 'kernel-drops');
  if (observation?.kind === 'martian') return martianText(observation);
  return observation?.kind === 'packet' ? packetText(observation) : `${observation?.kind}`;
}

function martianText({ device, source, destination }: Martian): string {
  return `IP_RPFILTER ${device} > ${source} > ${destination}`;
}

function packetText({ dropReason, inInterface, outInterface, packet }: PacketObservation): string {
  const { protocol, source, destination, destinationPort } = packet;
  const devices = [inInterface, '>', outInterface].filter((each) => each !== '').join(' ');
  const port = destinationPort === undefined ? '' : `:${destinationPort}`;
  return `${dropReason ?? 'NETFILTER_DROP'} ${devices} ${protocol} ${source} > ${destination}${port}`;
}
