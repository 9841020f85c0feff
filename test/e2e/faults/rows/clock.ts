import { expect } from 'vitest';
import type { StoredEvent } from '../../agent-rig.ts';
import type { Fault, Scene, FaultRows } from '../fault.ts';

/**
 * The wall clock of a node jumps while the agent runs, and is set right later; the API server's clock does not change.
 */

const hour = 3600;

const jump = (title: string, seconds: number): Fault => ({
  title,
  clock: true,
  async begin(scene) {
    scene.clock.set(seconds);
    await changePod(scene, 'during');
  },
  goesOn: true,
  end: ({ clock }) => clock.set(0),
  problems: ['clock'],
  check: (_, events) => expectStamps(events, seconds),
});

export const clockRows: FaultRows = {
  name: 'clock',
  subnet: '10.116',
  rows: [
    jump('the clock jumps an hour ahead, and back', hour),
    jump('the clock jumps an hour back, and ahead again', -hour),
  ],
};

/** From now on the wrong clock stamps everything that is heard about the Pod. */
async function changePod({ controlPlane, namespace }: Scene, pod: string): Promise<void> {
  const body = { metadata: { labels: { changed: 'true' } } };
  const path = `/api/v1/namespaces/${namespace}/pods/${pod}`;
  expect(await controlPlane.request('PATCH', path, { body })).toMatchObject({ status: 200 });
}

/** Packets during the fault have the times of the clock as it was then. */
function expectStamps(events: readonly StoredEvent[], seconds: number): void {
  for (const [pod, ahead] of [
    ['before', 0],
    ['during', seconds],
    ['after', 0],
  ] as const) {
    const stamps = events.flatMap((event) =>
      event.involvedObject.name === pod ? [Date.parse(event.lastTimestamp)] : [],
    );
    expect(stamps).toHaveLength(1);
    const off = (stamps[0] ?? 0) - Date.now() - ahead * 1000;
    expect(Math.abs(off)).toBeLessThan(5 * 60_000);
  }
}
