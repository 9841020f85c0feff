import { expect, test } from 'vitest';
import type { PacketPart } from '../../../src/base/model/observation.ts';
import { createVerdictLines } from '../../../src/count/pipeline/twins.ts';
import { observation, packet } from '../../builders.ts';

/** Tests that a packet and its verdict, which are in two lines, become one packet. */

const logger = 'kube-network-policies';
const place = { source: '/var/log/pods/a/0.log', host: undefined, program: undefined };

function packetOf(id: string, port = 40_112): PacketPart {
  return {
    kind: 'packet-part',
    logger,
    id,
    part: observation({ verdict: 'logged', packet: packet({ sourcePort: port }) }),
  };
}
const verdictOf = (id: string, part: 'dropped' | 'accepted' = 'dropped'): PacketPart => ({
  kind: 'packet-part',
  logger,
  id,
  part,
});

test('a packet has the verdict of the line with the same number', () => {
  const join = createVerdictLines();
  const [first, second] = [packetOf('1', 1001), packetOf('2', 1002)];
  expect(join(place, first)).toBe(first);
  expect(join(place, second)).toBe(second);
  expect(join(place, verdictOf('2'))).toMatchObject({
    kind: 'packet',
    verdict: 'dropped',
    packet: { sourcePort: 1002 },
  });
  expect(join(place, verdictOf('1', 'accepted'))).toMatchObject({ verdict: 'accepted', packet: { sourcePort: 1001 } });
});

test('a packet evaluated for both directions counts at the second evaluation', () => {
  const join = createVerdictLines();
  join(place, packetOf('1', 1001));
  join(place, packetOf('1', 1002));
  expect(join(place, verdictOf('1'))).toMatchObject({ packet: { sourcePort: 1002 } });
});

test.each([
  ['another log', { ...place, source: '/var/log/pods/b/0.log' }],
  ['another program', { ...place, program: 'kindnet-cni' }],
  ['another host', { ...place, host: 'node-b' }],
])('the same number from %s belongs to another packet', (_, other) => {
  const join = createVerdictLines();
  join(place, packetOf('1'));
  expect(join(other, verdictOf('1'))).toMatchObject({ kind: 'unparsable' });
  expect(join(place, verdictOf('1'))).toMatchObject({ kind: 'packet' });
});

test('a verdict counts once; without its packet, a drop is unparsable, and an admission is ignored', () => {
  const join = createVerdictLines();
  join(place, packetOf('1'));
  join(place, verdictOf('1'));
  expect(join(place, verdictOf('1'))).toMatchObject({ kind: 'unparsable', format: logger });
  expect(join(place, verdictOf('1', 'accepted'))).toMatchObject({ kind: 'packet-part' });
});

test('only the latest 1,024 packets wait for their verdicts', () => {
  const join = createVerdictLines();
  for (let id = 0; id < 1025; id++) join(place, packetOf(String(id)));
  expect(join(place, verdictOf('0'))).toMatchObject({ kind: 'unparsable' });
  expect(join(place, verdictOf('1'))).toMatchObject({ kind: 'packet' });
  expect(join(place, verdictOf('1024'))).toMatchObject({ kind: 'packet' });
});
