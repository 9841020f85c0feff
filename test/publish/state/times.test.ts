import { expect, test } from 'vitest';
import { clampTimes, lastTimes } from '../../../src/publish/state/state.ts';
import { incident, nine, series } from '../../builders.ts';

const hour = 3_600_000;

test('a time from a clock that was ahead becomes the present, at any depth; a time that is meant to lie ahead keeps at most its normal distance', () => {
  const state = {
    last: nine + 5,
    windowEnd: nine + hour,
    list: [{ last: nine + hour, nextSweep: nine + 9 * hour, count: 7, at: null, name: 'web-0' }, 3],
  };
  clampTimes(state, nine);
  expect(state).toEqual({
    last: nine,
    windowEnd: nine + hour,
    list: [{ last: nine, nextSweep: nine + hour, count: 7, at: null, name: 'web-0' }, 3],
  });
});

test('the last drop is the time of a packet, the last Event the time of a write', () => {
  const published = { ...series().published, at: nine + 3, writes: 1 };
  const all = [
    series({ last: nine + 1, published }),
    series({ last: nine + 2, published: { ...published, at: nine + 4, writes: 0 } }),
    series({ last: nine + 9, finding: incident() }),
  ];
  expect(lastTimes({ series: all, past: [] })).toEqual({ lastDrop: nine + 2, lastEvent: nine + 3 });
  expect(lastTimes({ series: [], past: all })).toEqual({ lastDrop: nine + 2, lastEvent: nine + 3 });
  expect(lastTimes({ series: [], past: [] })).toEqual({ lastDrop: undefined, lastEvent: undefined });
});
