import { expect, test } from 'vitest';
import { play, scriptsIn, start, statesOf } from './scripts.ts';

/** An incident that has been open since second 30. */
const opened = '0 attempt KN102\n 30 attempt KN102';

test.each(scriptsIn('closing.txt'))('an incident ends by %s', (_, script, changes, states) => {
  const started = start();
  // A script that begins at 0 opens its own incident.
  if (!script.startsWith('0 ')) play(opened, started);
  expect(play(script, started)).toEqual(changes);
  if (states.length > 0) expect(statesOf(started)).toEqual(states);
});

test('felix logs success only after success', () => {
  expect(play('0 KN201\n 30 KN201\n 30.1 complete', start(), 'felix')).toEqual([
    '30 opened KN201 2',
    '30.1 closed KN201 by success',
  ]);
});

test('a success does not end failures outside a sync', () => {
  expect(play('0 KN204\n 5 KN204\n 6 complete\n 545 tick', start(), 'felix')).toEqual([
    '5 opened KN204 2',
    '545 closed KN204 by silence',
  ]);
});
