import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Martian } from '../../../src/model/observation.ts';
import type { PacketObservation } from '../../../src/model/packet.ts';
import { createPrefixTable, parse } from '../../../src/parsing/parsing.ts';
import { libraries } from '../../programs/table.ts';
import { createOwnFolder } from '../own-folder.ts';
import { cases } from './cases.ts';
import { runMachine } from './machine.ts';

/** The source of the kernel's own record of drops, in kernels of Debian: which packets it tells of, and what it says of them. */

const prefixes = createPrefixTable();
/** With them, those that they need are loaded. The first is asked for by another's code alone. */
const modules = (
  'crc32c_generic veth bridge vxlan iptable_filter iptable_raw iptable_mangle ip6table_filter xt_tcpudp ipt_REJECT xfrm_user ' +
  'sch_ingress cls_u32 act_gact nf_tables nft_meta_bridge'
).split(' ');
const extensions = join(libraries, 'xtables');
const programs = {
  '/bin/busybox': '/bin/busybox',
  '/usr/sbin/ip': '/bin/ip',
  '/usr/sbin/tc': '/sbin/tc',
  '/usr/sbin/nft': '/usr/sbin/nft',
  '/usr/sbin/iptables': '/usr/sbin/xtables-legacy-multi',
  '/usr/sbin/ip6tables': '/usr/sbin/xtables-legacy-multi',
};

describe.concurrent.each(['6.1', '6.12'])('Linux %s', (version) => {
  let printed: { kind: string; value: unknown }[] = [];

  beforeAll(async () => {
    const text = await runMachine({
      version,
      modules,
      programs: { ...programs, ...matchesOfIptables() },
      program: join(import.meta.dirname, 'guest.ts'),
      folder: createOwnFolder(`linux-${version}`),
    });
    printed = Array.from(text.matchAll(/^@(\w+) (.*)$/gm), ([, kind = '', json = '']) => ({
      kind,
      value: JSON.parse(json) as unknown,
    }));
    if (printed.at(-1)?.kind !== 'left') throw new Error(`the guest did not come to its end: ${text.slice(-3000)}`);
  }, 900_000);

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

  test('nothing else is told: no drop within a Pod, and no closed port', () => {
    const expected = new Set(cases.map((each) => each.seen));
    expect([...seen()].filter((each) => !expected.has(each))).toEqual([]);
  });

  test('nothing is lost, and nothing is left behind', () => {
    expect(valuesOf('lost')).toEqual([]);
    expect(valuesOf('left')).toEqual([{ instances: [], probes: '', group: false }]);
  });
});

/** Extensions of iptables that the rules of the cases need. */
function matchesOfIptables(): Record<string, string> {
  const names = readdirSync(extensions).filter((name) => /^lib(?:xt_(?:tcp|standard)|ipt_REJECT)\.so$/.test(name));
  return Object.fromEntries(names.map((name) => [join(extensions, name), join(extensions, name)]));
}

/** Until the first line has come, the kernel does not know which namespace to keep out. */
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
