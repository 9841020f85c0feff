import fc from 'fast-check';
import { expect, test } from 'vitest';
import { act, deletions, fates, kills, objects, type Step, steps } from './program.ts';
import { windowLength } from '../../../src/count/series/times.ts';
import { createWorld, type Fate, type World } from './world.ts';
import { runs } from '../../runs.ts';
import { forAllAsync } from '../../for-all.ts';

const limits = fc.record({ perObject: fc.integer({ min: 1, max: 8 }), total: fc.constant(1000) });

/** Runs programs until everything is published, and then checks each object. */
async function check(
  programs: fc.Arbitrary<Step[]>,
  requests: fc.Arbitrary<Fate[]>,
  look: (world: World, object: string) => void,
): Promise<void> {
  await forAllAsync([programs, requests, limits], { numRuns: runs(1500) }, async (program, queue, limit) => {
    const world = createWorld(queue, limit);
    await act(world, program);
    await world.settle();
    expect(world.faults).toEqual([]);
    for (const object of objects) look(world, object);
  });
}

test('killed at any moment, each packet is in one Event', async () => {
  await check(steps(kills), fates('answer lost', 'killed before', 'killed after'), (world, object) =>
    expect(world.published(object)).toBe(world.logged(object)),
  );
});

test('packets counted by deleted Events are not counted again, and no later packet is missing', async () => {
  await check(steps(deletions), fates('deleted before'), (world, object) =>
    expect(world.published(object) + world.published(object, world.deleted)).toBe(world.logged(object)),
  );
});

test('killed and deleted at any moment, no packet is missing, and no packet of a remaining Event is counted twice', async () => {
  const all = fates('answer lost', 'killed before', 'killed after', 'deleted before');
  await check(steps(kills, deletions), all, (world, object) => {
    expect(world.published(object)).toBeLessThanOrEqual(world.logged(object));
    expect(world.published(object) + world.published(object, world.deleted)).toBeGreaterThanOrEqual(
      world.logged(object),
    );
  });
});

const step = (hours: number): Step => ({ kind: 'step', offset: hours * windowLength });

/** The wall clock becomes wrong by hours, and is set right again. */
const wrong = fc
  .tuple(steps(kills), fc.integer({ min: -9, max: 9 }), steps(kills), steps(kills))
  .map(([before, hours, between, after]) => before.concat(step(hours), between, step(-hours), after));

test('while the wall clock is wrong by hours and after it is corrected, no packet is counted twice and no count falls', async () => {
  await check(wrong, fates('answer lost', 'killed before', 'killed after'), (world, object) =>
    expect(world.published(object)).toBeLessThanOrEqual(world.logged(object)),
  );
});
