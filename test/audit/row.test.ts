import { describe, expect, test } from 'vitest';
import { auditRow } from '../../src/audit/row.ts';
import type { LogLine } from '../../src/model/log-line.ts';
import type { PacketObservation } from '../../src/model/packet.ts';
import { ends, externalEnd, icmp, line, nine, observation, packet, podEnd, portless, workerEnd } from '../builders.ts';

function row(
  given: Partial<PacketObservation> = {},
  of: Partial<LogLine> = {},
  found = ends(),
  node = 'node-a',
  noise?: string,
): unknown {
  const text = auditRow(line(of), observation(given), { ends: found, node, noise });
  expect(text.endsWith('}\n') && !text.slice(0, -1).includes('\n')).toBe(true);
  return JSON.parse(text);
}

test('in full', () => {
  const policy = { kind: 'NetworkPolicy', namespace: 'shop', name: 'deny', tier: undefined };
  const given = {
    inInterface: 'calic440f455693',
    outInterface: 'eth0',
    policy,
    mark: 0x10000,
    uid: 1000,
    repeat: 3,
    packet: packet({ tcpFlags: 18 }),
  };
  expect(row(given, { time: nine + 1500 }, ends({ source: workerEnd(1), destination: externalEnd() }))).toEqual({
    time: '2026-11-21T09:00:01.500Z',
    node: 'node-a',
    file: 'kern.log',
    line: 12,
    verdict: 'dropped',
    count: 3,
    logger: 'netfilter',
    prefix: 'calico-drop:',
    policy: { kind: 'NetworkPolicy', namespace: 'shop', name: 'deny' },
    in: 'calic440f455693',
    out: 'eth0',
    source: {
      address: '10.65.2.1',
      kind: 'pod',
      namespace: 'batch',
      name: 'worker-1',
      uid: 'uid-of-worker-1',
      workload: 'Deployment/worker',
      evidence: 'pod-address',
    },
    destination: { address: '203.0.113.9', kind: 'external', evidence: 'address-range' },
    protocol: 'TCP',
    sourcePort: 40112,
    destinationPort: 5432,
    tcpFlags: 'SYN ACK',
    length: 60,
    ttl: 63,
    mark: 65536,
    uid: 1000,
  });
});

test('what is not known is left out', () => {
  const bare = { prefix: '', packet: portless('', { length: undefined, ttl: undefined }) };
  const source = externalEnd({ kind: 'unknown', evidence: 'none' });
  expect(row(bare, {}, ends({ source }), '')).toEqual({
    time: '2026-11-21T09:00:00.000Z',
    file: 'kern.log',
    line: 12,
    verdict: 'dropped',
    logger: 'netfilter',
    source: { address: '203.0.113.9', kind: 'unknown' },
    destination: { address: '203.0.113.9', kind: 'external', evidence: 'address-range' },
  });
});

describe('fields that are written only where they apply', () => {
  test.each([
    ['an inferred time', row({}, { timeIsExact: false }), { timeEstimated: true }],
    ['chatter', row({}, {}, ends(), 'node-a', 'multicast'), { noise: 'multicast' }],
    [
      'a role',
      row({}, {}, ends({ destination: externalEnd({ role: 'metadata' }) })),
      { destination: { role: 'metadata' } },
    ],
    ['a later fragment', row({ packet: portless('UDP', { laterFragment: true }) }), { laterFragment: true }],
    ['a cut packet', row({ packet: packet({ incomplete: true }) }), { incomplete: true }],
    ['ICMP', row({ packet: icmp(8, 0) }), { protocol: 'ICMP', icmpType: 8, icmpCode: 0 }],
  ])('%s', (_, found, expected) => {
    expect(found).toMatchObject(expected);
  });
});

test('an ICMP error holds the packet it is about', () => {
  const error = { packet: icmp(3, 4), inner: packet({ destinationPort: 443 }), mtu: 1400 };
  const found = ends({
    source: externalEnd(),
    destination: podEnd(),
    inner: { source: podEnd(), destination: externalEnd() },
  });
  expect(row(error, {}, found)).toMatchObject({
    icmpType: 3,
    icmpCode: 4,
    mtu: 1400,
    inner: {
      source: { name: 'web-0' },
      destination: { address: '203.0.113.9' },
      protocol: 'TCP',
      destinationPort: 443,
    },
  });
});
