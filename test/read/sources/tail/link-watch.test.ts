import { appendFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createLinkWatch } from '../../../../src/read/sources/tail/link-watch.ts';
import { createRotatedLog } from '../../../../src/read/sources/tail/rotated-log.ts';
import { line, numberOf, readingTools } from './reading.ts';

const { unused } = readingTools();

function turn(link: string, name: string): string {
  const target = `${dirname(link)}/${name}`;
  writeFileSync(target, '');
  symlinkSync(target, `${link}.new`);
  renameSync(`${link}.new`, link);
  return target;
}

test('a link that is turned several times a second: all its files are read', async () => {
  const log = unused();
  turn(log, 'real.0');
  const lines: string[] = [];
  const source = createRotatedLog({
    path: log,
    needles: undefined,
    saved: undefined,
    from: 'start',
    lines: { take: (text) => void lines.push(text) },
    listener: { lost: () => {}, notice: () => {} },
  });
  onTestFinished(() => source.stop());
  source.start();
  for (let number = 1; number <= 10; number++) {
    appendFileSync(turn(log, `real.${number}`), line(number));
    await setTimeout(50);
  }
  await expect.poll(() => lines).toHaveLength(10);
  expect(lines.map(numberOf)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

/**
 * Returns a function that resolves when the kernel has reported all earlier changes: it reports them in order, and this
 * link is changed last.
 */
function witness(): () => Promise<void> {
  const log = unused();
  let turned = 0;
  turn(log, 'witness.0');
  const links = createLinkWatch(log, () => void turned++);
  onTestFinished(links.cancel);
  links.update();
  return async () => {
    const before = turned;
    turn(log, `witness.${before + 1}`);
    await expect.poll(() => turned).toBeGreaterThan(before);
  };
}

test('a path without a link is not watched; of a path with links, each link is', async () => {
  const log = unused();
  writeFileSync(log, '');
  let turned = 0;
  const links = createLinkWatch(log, () => void turned++);
  onTestFinished(links.cancel);
  const allAreHeard = witness();
  links.update();
  renameSync(log, `${log}.1`);
  turn(log, 'real.0');
  await allAreHeard();
  expect(turned).toBe(0);
  links.update();
  turn(log, 'real.1');
  await expect.poll(() => turned).toBeGreaterThan(1);
  links.cancel();
  const before = turned;
  turn(log, 'real.2');
  await allAreHeard();
  expect(turned).toBe(before);
});
