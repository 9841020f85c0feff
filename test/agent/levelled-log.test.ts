import { expect, test, vi } from 'vitest';
import { createLevelledLog } from '../../src/agent/levelled-log.ts';

/** In milliseconds. */
const patience = 20_000;

test('the level changes for those who hold the log already, and nothing is lost', async () => {
  const lines: string[] = [];
  const { log, setLevel } = await createLevelledLog({
    level: 'info',
    terminal: false,
    write: (line) => lines.push(line),
  });
  const { debug, warn } = log;
  debug('unheard');
  warn({ a: 1 }, 'before');
  setLevel('debug');
  warn('at once');
  await vi.waitUntil(() => {
    debug('heard');
    return lines.length > 2;
  }, patience);
  setLevel('error');
  await vi.waitUntil(() => {
    const before = lines.length;
    debug('still heard');
    return lines.length === before;
  }, patience);
  log.error('after');
  const said = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(said.slice(0, 3)).toMatchObject([
    { level: 'warn', a: 1, msg: 'before' },
    { msg: 'at once' },
    { level: 'debug', msg: 'heard' },
  ]);
  expect(said.at(-1)).toMatchObject({ level: 'error', msg: 'after' });
  expect(said.some(({ msg }) => msg === 'unheard')).toBe(false);
});
