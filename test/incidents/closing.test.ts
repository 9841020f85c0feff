import { expect, test } from 'vitest';
import { play, scriptsIn, start } from './scripts.ts';

/** Open since 30. */
const opened = '0 attempt KN102\n 30 attempt KN102';

test.each(scriptsIn('closing.txt'))('an incident ends by %s', (_, script, changes) => {
  const started = start();
  play(opened, started);
  expect(play(script, started)).toEqual(changes);
});

test('old releases log only that it is complete', () => {
  expect(play('0 KN102\n 0.1 complete\n 30 KN102\n 30.1 complete\n 60 complete')).toEqual([
    '30 opened KN102 2',
    '60 closed KN102 by success',
  ]);
});

test('felix says that it succeeded only when it did', () => {
  expect(play('0 KN201\n 30 KN201\n 30.1 complete', start(), 'felix')).toEqual([
    '30 opened KN201 2',
    '30.1 closed KN201 by success',
  ]);
});

test('a success says nothing of what is no part of a sync', () => {
  expect(play('0 KN204\n 5 KN204\n 6 complete\n 545 tick', start(), 'felix')).toEqual([
    '5 opened KN204 2',
    '545 closed KN204 by silence',
  ]);
});

test('when it ended is when it succeeded, or the first attempt that was not heard of', () => {
  const bySuccess = start();
  play(`${opened}\n 60 complete`, bySuccess);
  expect(bySuccess.tracker.incidents[0]).toMatchObject({
    phase: 'over',
    ended: 60_000,
    endedBy: 'success',
    last: 30_000,
  });
  const bySilence = start();
  play(`${opened}\n 500 tick`, bySilence);
  expect(bySilence.tracker.incidents[0]).toMatchObject({ phase: 'over', ended: 60_000, endedBy: 'silence' });
});

test('a fight is over when it is quiet for longer than ever before', () => {
  const started = start();
  // The rules are deleted every two minutes: it fails, and is repaired.
  const changes = play(
    '0 attempt KN102\n 30 complete\n 120 attempt KN102\n 150 complete\n 240 attempt KN102\n 270 complete\n 360 attempt KN102\n 390 complete',
    started,
  );
  expect(changes).toEqual(['240 opened KN102 3', '360 continued KN102 1']);
  expect(started.tracker.nextTick).toBe(600_000);
  expect(play('599.9 tick\n 600 tick', started)).toEqual(['600 closed KN102 by success']);
  expect(started.tracker.incidents[0]).toMatchObject({ ended: 390_000, failures: 4 });
});

test('it opens again at once within 15 minutes, and then it is a fight', () => {
  const started = start();
  play(`${opened}\n 60 complete`, started);
  expect(play('600 attempt KN102\n 630 complete\n 1499 tick\n 1500 tick', started)).toEqual([
    '600 opened KN102 1',
    '1500 closed KN102 by success',
  ]);
  expect(started.tracker.incidents[0]).toMatchObject({ first: 0, opened: 30_000, ended: 630_000, failures: 3 });
});

test('it is forgotten after 15 minutes', () => {
  const started = start();
  play(`${opened}\n 60 complete`, started);
  expect(started.tracker.nextTick).toBe(960_000);
  expect(play('960 KN102', started)).toEqual([]);
  expect(started.tracker.incidents[0]).toMatchObject({ phase: 'suspected', first: 960_000, failures: 1 });
});

test('a sync that fails without a reason is one more failure of what failed last, and keeps the others alive', () => {
  const started = start();
  play('0 KN102\n 1 KN104\n 30 KN104\n 31 KN102', started);
  expect(play('100 failed\n 125 tick', started)).toEqual(['100 continued KN102 1']);
  expect(started.tracker.incidents.map(({ code, failures, last }) => [code, failures, last])).toEqual([
    ['KN102', 3, 100_000],
    ['KN104', 2, 100_000],
  ]);
});

test('a quiet fight is not kept alive by a sync that fails without a reason', () => {
  const started = start();
  play(
    '0 attempt KN104\n 30 attempt KN104\n 60 complete\n 70 attempt KN104\n 75 complete\n 80 attempt KN102\n 110 attempt KN102',
    started,
  );
  expect(play('150 failed\n 160 tick', started)).toEqual(['150 continued KN102 1', '160 closed KN104 by success']);
});

test('after silence only what fails again needs to succeed', () => {
  const started = start();
  play('0 KN102 IPv4\n 5 KN102 IPv6\n 200 tick\n 210 attempt KN102\n 240 complete', started);
  expect(started.tracker.incidents[0]).toMatchObject({ phase: 'open', families: ['IPv4', 'IPv6'] });
  expect(play('1200 tick', started)).toEqual(['1200 closed KN102 by success']);
});
