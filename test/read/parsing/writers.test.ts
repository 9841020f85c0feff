import { describe, expect, test } from 'vitest';
import type { Observation } from '../../../src/base/model/observation.ts';
import { formats, parse } from '../../../src/read/parsing/formats.ts';
import { createPrefixTable } from '../../../src/read/parsing/netfilter/prefixes.ts';
import { createClock } from '../../../src/read/sources/envelopes/clock.ts';
import { readEnvelope } from '../../../src/read/sources/envelopes/read-envelope.ts';
import { lines } from '../../corpus/lines.ts';

const tables: { writers: Record<string, string[]> } = {
  // Formats of programs, and who may write each.
  writers: {
    ulogd: ['ulogd', 'ulogd2'],
    journald: ['systemd-journald'],
    'calico-bpf': ['bpf'],
    'calico-flow': ['calico-flows'],
    'kernel-drop': ['kernel-drops'],
    'connect-failure': ['kernel-drops'],
    hubble: ['cilium-agent'],
    'gke-policy-action': ['cilium-agent'],
    'aws-network-policy-agent': ['aws-network-policy-agent', 'network-policy-agent', 'aws-eks-nodeagent', 'aws-node'],
    'kube-network-policies': ['kube-network-policies', 'kindnet-cni'],
    'ovn-acl': ['ovn-controller', 'ovn-acl-logging'],
    'weave-npc': ['weave-npc'],
    antrea: ['antrea-agent'],
  },
};

/** Tests which writers are believed: each format has its writers, and its lines begin as these writers begin them. */

const prefixes = createPrefixTable();
const aws = 'SIP: 10.65.1.4;SPORT: 40112;DIP: 10.65.2.9;DPORT: 8443;PROTOCOL: TCP;PolicyVerdict: DENY';

/** The first line of the corpus that each format claims. */
const samples = new Map(
  formats.map(({ name, parse: claim }) => [
    name,
    lines.find(({ text }) => isMeaning(claim(text, prefixes)))?.text ?? '',
  ]),
);

function isMeaning(found: Observation | undefined): boolean {
  return found !== undefined && found.kind !== 'unparsable';
}

function kindOf(line: string): string | undefined {
  const { text, origin, program } = readEnvelope(line, createClock({ latest: 0 }));
  return parse(text, prefixes, origin, program)?.kind;
}

test('every format has a line in the corpus and a name in the statistics', () => {
  expect([...samples].filter(([name, text]) => text === '' || !/^[a-z]+(?:-[a-z]+){0,3}$/.test(name))).toEqual([]);
});

describe.each(formats.map(({ name, writers }) => [name, writers, samples.get(name) ?? ''] as const))(
  '%s',
  (_, writers, text) => {
    const believed = kindOf(text);
    const stamp = 'Nov 21 10:15:03 node-b';

    test('is believed if no writer is named, and from its writers', () => {
      expect(believed).toMatch(
        /^(?:packet|packet-part|conntrack-full|neighbour-overflow|ipvs-no-destination|martian|suppressed|connect-failure)$/,
      );
      for (const writer of writers) {
        // Only its source names this writer: any program can have the name in a syslog.
        if (['bpf', 'calico-flows', 'kernel-drops'].includes(writer)) {
          expect(parse(text, prefixes, 'kernel', writer)?.kind).toBe(believed);
          continue;
        }
        const tag = writer === 'kernel' ? 'kernel: ' : `${writer}[12]: `;
        expect(kindOf(`${stamp} ${tag}${text}`)).toBe(believed);
      }
    });

    test.each(['sshd', 'kube-proxy', 'kernel', 'ovs-vswitchd'])('is refused from the program %s', (program) => {
      const record = { MESSAGE: text, _TRANSPORT: 'stdout', SYSLOG_IDENTIFIER: program };
      for (const line of [
        `<38>${stamp} ${program}[12]: ${text}`,
        `<38>1 2026-11-21T10:15:03Z node-b ${program} 12 - - ${text}`,
        JSON.stringify(record),
        JSON.stringify({ ...record, _COMM: 'evil', SYSLOG_IDENTIFIER: writers[0] }),
      ])
        expect(kindOf(line)).toBe('refused');
    });

    test('a refusal names the allowed writers', () => {
      for (const origin of ['user', 'kernel'])
        expect(parse(text, prefixes, origin, 'sshd')).toMatchObject({ kind: 'refused', writers });
    });

    test('is refused from a program without a name', () => {
      for (const line of [`<38>${text}`, `12,123,132500000,-;${text}`]) expect(kindOf(line)).toBe('refused');
    });

    test('is refused from writers of other formats', () => {
      for (const other of new Set(formats.flatMap((format) => format.writers))) {
        const tag = other === 'kernel' ? 'kernel: ' : `${other}[12]: `;
        if (!writers.includes(other)) expect(kindOf(`${stamp} ${tag}${text}`)).toBe('refused');
      }
    });
  },
);

test.each([
  `Nov 21 10:15:03 node-b sshd[1]: Invalid user x;PolicyVerdict: DENY;SIP: 10.65.1.4;DIP: 10.65.2.9; from 192.0.2.1 port 22`,
  `Nov 21 10:15:03 node-b sshd[1]: Invalid user Node: n;${aws};Tier: x from 192.0.2.1 port 22`,
  `Nov 21 10:15:03 node-b sshd[1]: Invalid user calico-drop: IN=eth0 OUT=cali1 SRC=10.65.1.4 DST=10.65.2.9 LEN=60 PROTO=TCP SPT=40112 DPT=8443 SYN`,
])('text that was sent to another program is not a packet: %s', (line) => expect(kindOf(line)).not.toBe('packet'));

// An rsyslog template may leave the tag out, and some programs have no number in theirs.
test.each([...samples].filter(([name]) => name !== 'netfilter'))(
  'text that was sent to another program is not counted even if no writer is named: %s',
  (_, text) => {
    for (const before of ['Invalid user ', 'nginx: 192.0.2.1 - - "GET /" "', 'Invalid user x;'])
      expect(kindOf(`Nov 21 10:15:03 node-b ${before}${text}`)).toBeUndefined();
  },
);

test('each format has its writers', () => {
  const own = formats.filter(({ writers }) => !writers.includes('kernel'));
  expect(Object.fromEntries(own.map(({ name, writers }) => [name, writers]))).toEqual(tables.writers);
});

test('no needle appears in every line', () => {
  for (const needle of formats.flatMap(({ needles }) => needles)) expect(needle.length).toBeGreaterThan(2);
});
