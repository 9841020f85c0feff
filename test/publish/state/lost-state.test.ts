import fc from 'fast-check';
import { expect, test } from 'vitest';
import { act, fate, fates, kills, losses, objects, steps } from './program.ts';
import { createWorld } from './world.ts';
import { runs } from '../../runs.ts';
import { forAllAsync } from '../../for-all.ts';

const second = 1000;

const everything = fates('answer lost', 'killed before', 'killed after');

test('no count goes down or is higher than the truth, whatever is lost', async () => {
  await forAllAsync([steps(kills, losses), everything], { numRuns: runs(1500) }, async (program, queue) => {
    const world = createWorld(queue);
    await act(world, program);
    await world.settle();
    expect(world.faults).toEqual([]);
    for (const event of world.store.events.values()) expect(event.count).toBeLessThanOrEqual(world.linesBehind(event));
  });
});

test('however slowly the log is read again, and whatever happens meanwhile, no count is higher than the truth', async () => {
  const round = fc.record({ lines: fc.nat(4), news: fc.nat(1), fate });
  await forAllAsync(
    [fc.array(fc.nat(9), { minLength: 1, maxLength: 8 }), fc.array(round, { maxLength: 6 })],
    {
      numRuns: runs(1500),
    },
    async (pauses, rounds) => {
      const world = createWorld([]);
      const packet = { object: 'web-0', port: 1 };
      for (const pause of pauses) {
        world.log(packet);
        world.pass(pause * second);
      }
      await world.settle();
      world.lose(pauses.length);
      for (const { lines, news, fate: befalls } of rounds) {
        if (news > 0) world.log(packet);
        world.read(lines);
        world.pass(40 * second);
        // The state is saved before this happens.
        world.befall(['fine', befalls]);
        await world.write();
      }
      await world.settle();
      expect(world.faults).toEqual([]);
      for (const event of world.store.events.values())
        expect(event.count).toBeLessThanOrEqual(world.linesBehind(event));
    },
  );
});

test('counts are exact if everything was published before the loss and our packets come after it', async () => {
  const lives = fc.array(fc.tuple(steps(kills), everything), { minLength: 2, maxLength: 3 });
  await forAllAsync([lives], { numRuns: runs(1000) }, async (programs) => {
    const world = createWorld([]);
    for (const [program, queue] of programs) {
      world.befall(queue);
      await act(world, program);
      await world.settle();
      world.lose(0);
      // The times of Events are whole seconds.
      world.pass(1000);
    }
    expect(world.faults).toEqual([]);
    for (const object of objects) expect(world.published(object)).toBe(world.logged(object));
  });
});
