import { expect, test } from 'vitest';
import { readTopOptions } from '../../../src/commands/options/top-options.ts';
import { parsed } from '../parsed.ts';

const read = (args: string[], hasTerminal = true) =>
  readTopOptions(parsed('kubectl drops', 'top', ...args), hasTerminal);

test('on a terminal it goes on, by rate, over all namespaces', () => {
  expect(read([])).toMatchObject({
    plain: false,
    count: undefined,
    interval: 2000,
    sort: 'rate',
    filter: '',
    namespace: undefined,
    agents: { namespace: 'kube-netfilter-tailer', port: undefined },
  });
});

test('without a terminal it is one plain table', () => {
  expect(read([], false)).toMatchObject({ plain: true, count: 1 });
  expect(read(['--count', '3'], false)).toMatchObject({ plain: true, count: 3 });
});

test('--plain on a terminal goes on', () => {
  expect(read(['--plain'])).toMatchObject({ plain: true, count: undefined });
});
