import { expect, test } from 'vitest';
import type { PacketObservation } from '../../../src/base/model/packet.ts';
import { createTwinLines } from '../../../src/count/pipeline/twins.ts';
import { nine, observation, packet } from '../../builders.ts';

/** Tests that a packet counts once, whichever of its two lines Cilium writes. */

type Line = [notice: PacketObservation['notice'], time?: number, repeat?: number, port?: number];

/** Returns how many packets each line counts. */
function counted(...lines: Line[]): number[] {
  const uncounted = createTwinLines();
  return lines.map(([notice, time = 0, repeat = 1, port = 40112]) => {
    const given = observation({ notice, repeat, packet: packet({ sourcePort: port }) });
    const left = uncounted(given, nine + time);
    return left?.kind === 'packet' ? left.repeat : 0;
  });
}

test('a verdict counts and its drop does not, because the verdict comes first and names the policy', () => {
  expect(counted(['verdict'], ['drop', 0.1])).toEqual([1, 0]);
});

test('in the other order, the drop counts and the verdict does not', () => {
  expect(counted(['drop'], ['verdict', 0.1])).toEqual([1, 0]);
});

test('all lines count if only one kind is written', () => {
  expect(counted(['drop'], ['drop', 1], ['drop', 500], ['drop', 3000])).toEqual([1, 1, 1, 1]);
  expect(counted(['verdict'], ['verdict', 1], ['verdict', 500])).toEqual([1, 1, 1]);
});

test('packets of one tuple within a second count once each', () => {
  expect(counted(['verdict'], ['drop', 1], ['verdict', 200], ['drop', 201])).toEqual([1, 0, 1, 0]);
  expect(counted(['verdict'], ['verdict', 1], ['drop', 2], ['drop', 3])).toEqual([1, 1, 0, 0]);
});

test('lines more than a second apart belong to two packets', () => {
  expect(counted(['verdict'], ['drop', 1001])).toEqual([1, 1]);
  expect(counted(['verdict'], ['drop', 1000])).toEqual([1, 0]);
});

test('lines are still matched if the clock goes back a little', () => {
  expect(counted(['verdict', 5], ['drop', 0])).toEqual([1, 0]);
});

test('packets of different ports are different packets', () => {
  expect(counted(['verdict'], ['drop', 0, 1, 40113])).toEqual([1, 1]);
});

test('lines that represent several packets are compared by their counts', () => {
  expect(counted(['verdict', 0, 3], ['drop', 1, 3])).toEqual([3, 0]);
  expect(counted(['verdict', 0, 3], ['drop', 1, 5])).toEqual([3, 2]);
  expect(counted(['verdict', 0, 5], ['drop', 1, 3], ['drop', 2, 2], ['drop', 3, 1])).toEqual([5, 0, 0, 1]);
});

test('lines without a kind are left as they are', () => {
  expect(counted([undefined], [undefined])).toEqual([1, 1]);
});

test('only the latest 4,096 flows are remembered', () => {
  const many: Line[] = Array.from({ length: 4097 }, (_, index) => ['verdict', 0, 1, index]);
  const results = counted(...many, ['drop', 1, 1, 4096], ['drop', 1, 1, 0]);
  expect(results.slice(-2)).toEqual([0, 1]);
});
