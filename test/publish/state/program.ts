import fc from 'fast-check';
import { windowLength } from '../../../src/count/series/times.ts';
import type { Fate, Packet, World } from './world.ts';

const second = 1000;

export const objects = ['web-0', 'web-1'];

export type Step =
  | { kind: 'packets'; packets: Packet[] }
  | { kind: 'read'; lines: number }
  | { kind: 'pass'; time: number }
  | { kind: 'step'; offset: number }
  | { kind: 'delete'; index: number }
  | { kind: 'lose'; again: number }
  | { kind: 'keep' | 'write' | 'kill' };

const packet = fc.record({ object: fc.constantFrom(...objects), port: fc.integer({ min: 1, max: 4 }) });

const duration = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 2000 }) },
  { weight: 2, arbitrary: fc.integer({ min: 2, max: 900 }).map((value) => value * second) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 2 * windowLength }) },
);

const packets: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('packets'),
  packets: fc.array(packet, { minLength: 1, maxLength: 6 }),
});
const reads: fc.Arbitrary<Step> = fc.record({ kind: fc.constant('read'), lines: fc.integer({ min: 1, max: 8 }) });
const passes: fc.Arbitrary<Step> = fc.record({ kind: fc.constant('pass'), time: duration });
const writes: fc.Arbitrary<Step> = fc.record({ kind: fc.constant('write') });
const keeps: fc.Arbitrary<Step> = fc.record({ kind: fc.constantFrom('keep', 'write') });

export const kills: fc.Arbitrary<Step> = fc.record({ kind: fc.constant('kill') });
export const deletions: fc.Arbitrary<Step> = fc.record({ kind: fc.constant('delete'), index: fc.nat(9) });
export const losses: fc.Arbitrary<Step> = fc.record({ kind: fc.constant('lose'), again: fc.nat(20) });

/** Steps of an agent and around it; `more` are steps in addition to packets, time and writes. */
export function steps(...more: fc.Arbitrary<Step>[]): fc.Arbitrary<Step[]> {
  return fc.array(fc.oneof(packets, reads, passes, writes, keeps, ...more), { maxLength: 40 });
}

/** Any fate except that Events are deleted. */
export const fate = fc.constantFrom<Fate>(
  'fine',
  'refused',
  'answer lost',
  'changed before',
  'packet during',
  'killed before',
  'killed after',
);

/** Fates of its requests, in order. */
export function fates(...more: Fate[]): fc.Arbitrary<Fate[]> {
  return fc.array(fc.constantFrom<Fate>('fine', 'fine', 'refused', 'changed before', 'packet during', ...more), {
    maxLength: 30,
  });
}

export async function act(world: World, program: readonly Step[]): Promise<void> {
  for (const step of program) {
    switch (step.kind) {
      case 'packets':
        for (const each of step.packets) world.log(each);
        break;
      case 'read':
        world.read(step.lines);
        break;
      case 'pass':
        world.pass(step.time);
        break;
      case 'step':
        world.step(step.offset);
        break;
      case 'delete':
        world.deleteOne(step.index);
        break;
      case 'lose':
        world.lose(step.again);
        break;
      default:
        await world[step.kind]();
    }
  }
}
