import { expect, test } from 'vitest';
import {
  createLogger,
  errorFields,
  type Log,
  type LoggerOptions,
  logLevels,
} from '../../../src/agent/telemetry/logger.ts';

async function capture(options: Partial<LoggerOptions> = {}) {
  const lines: string[] = [];
  const log = await createLogger({
    level: 'info',
    terminal: false,
    node: 'node-a',
    write: (line) => lines.push(line),
    ...options,
  });
  return { log, lines, objects: () => lines.map((line): Record<string, unknown> => JSON.parse(line)) };
}

test('a line has level, time, node, the fields and the text, in this order', async () => {
  const { log, lines, objects } = await capture();
  log.warn({ pods: 7 }, 'many Pods');
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(
    /^\{"level":"warn","time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","node":"node-a","pods":7,"msg":"many Pods"\}\n$/,
  );
  const [time] = objects().map((object) => Date.parse(object['time'] as string));
  expect(Math.abs(Date.now() - (time as number))).toBeLessThan(60_000);
});

test('a text alone is a line without a node', async () => {
  const { log, objects } = await capture({ node: undefined });
  log.info('100% of %s\nand "more"');
  expect(objects()).toEqual([{ level: 'info', time: expect.any(String), msg: '100% of %s\nand "more"' }]);
});

test.each(logLevels.map((level, index) => [level, logLevels.slice(0, index + 1)] as const))(
  'level %s says %j',
  async (level, expected) => {
    const { log, objects } = await capture({ level });
    for (const each of logLevels) log[each]('x');
    expect(objects().map((object) => object['level'])).toEqual(expected);
  },
);

test('an error is logged without its stack', async () => {
  const { log, objects } = await capture();
  log.error({ error: new Error('no', { cause: Object.assign(new Error('gone'), { code: 'EPIPE' }) }) }, 'failed');
  expect(objects()[0]?.['error']).toEqual({ message: 'no', cause: { message: 'gone', code: 'EPIPE' } });
});

test('at level debug, an error is logged with its stack', async () => {
  const { log, objects } = await capture({ level: 'debug' });
  const error = new Error('no');
  log.error({ error }, 'failed');
  expect(objects()[0]?.['error']).toEqual({ message: 'no', stack: error.stack });
});

test.each([
  [
    'a circle',
    () => {
      const circle: Record<string, unknown> = {};
      circle['self'] = circle;
      return circle;
    },
  ],
  ['a big integer', () => 1n],
  [
    'a getter that throws',
    () => ({
      get bad(): never {
        throw new Error('no');
      },
    }),
  ],
  ['half a character', () => '\ud800'],
])('JSON: %s as a field is no fault', async (_, value) => {
  const { log, objects } = await capture();
  log.info({ value: value() }, 'x');
  expect(objects()[0]).toMatchObject({ msg: 'x' });
});

test('the text format has time, level, text and fields', async () => {
  const { log, lines } = await capture({ terminal: true });
  log.warn({ pods: 7 }, 'many Pods');
  // If the tests run on a terminal, the line has colours.
  const [line = ''] = lines.map((each) => each.replace(/\x1b\[\d+m/g, ''));
  expect(line).toMatch(/^\[\d\d:\d\d:\d\d\] WARN: many Pods \{"pods":7\}\n$/);
});

test('on a terminal, text from a log cannot control the terminal', async () => {
  const { log, lines } = await capture({ terminal: true, level: 'debug' });
  const evil = '\x1b]0;owned\x07\x9b31m';
  log.info({ prefix: evil, error: new Error(evil) }, evil);
  expect(lines.join('')).toContain('owned');
  expect(lines.join('')).not.toMatch(/\x1b\]|\x07|\x9b/);
});

test.each([[true], [false]])(
  'a log that cannot be written does not stop the program (terminal: %s)',
  async (terminal) => {
    let tries = 0;
    const { log } = await capture({
      terminal,
      write: () => {
        tries++;
        throw Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
      },
    });
    log.info('one');
    log.info('two');
    expect(tries).toBe(2);
  },
);

test('a new level is in force at once for all users of the log, also for stacks of errors', async () => {
  const { log, objects } = await capture({ level: 'info' });
  const holder: Log = log;
  holder.debug('unwanted');
  log.level = 'debug';
  holder.debug({ error: new Error('no') }, 'wanted');
  log.level = 'error';
  holder.warn('unwanted');
  holder.error({ error: new Error('no') }, 'wanted');
  expect(objects().map(({ msg, error }) => [msg, Object.keys(error as object)])).toEqual([
    ['wanted', ['message', 'stack']],
    ['wanted', ['message']],
  ]);
});

const refused = Object.assign(new Error('connect ECONNREFUSED 10.96.0.1:443'), {
  code: 'ECONNREFUSED',
  syscall: 'connect',
});

test.each([
  ['an error', new Error('no'), { message: 'no' }],
  ['its code', refused, { message: 'connect ECONNREFUSED 10.96.0.1:443', code: 'ECONNREFUSED' }],
  ['a number as code', Object.assign(new Error('no'), { code: 409 }), { message: 'no', code: 409 }],
  ['no other code', Object.assign(new Error('no'), { code: { a: 1 } }), { message: 'no' }],
  [
    'its cause',
    new TypeError('fetch failed', { cause: refused }),
    { message: 'fetch failed', cause: { message: 'connect ECONNREFUSED 10.96.0.1:443', code: 'ECONNREFUSED' } },
  ],
  ['a cause that is no error', new Error('no', { cause: 'why' }), { message: 'no', cause: { message: 'why' } }],
  [
    'several errors',
    new AggregateError([new Error('connect ECONNREFUSED ::1:443'), 'b']),
    { message: 'connect ECONNREFUSED ::1:443; b' },
  ],
  ['several errors with a message', new AggregateError([new Error('a')], 'all'), { message: 'all' }],
  ['a thrown text', 'no', { message: 'no' }],
  ['nothing', undefined, { message: 'undefined' }],
  ['null', null, { message: 'null' }],
  ['any object', { status: 409 }, { status: 409 }],
])('an error is logged: %s', (_, error, expected) => {
  expect(errorFields(error, false)).toStrictEqual(expected);
});

test('stacks are logged only on request, and then those of causes too', () => {
  const cause = new Error('why');
  const error = new Error('no', { cause });
  expect(errorFields(error, true)).toStrictEqual({
    message: 'no',
    stack: error.stack,
    cause: { message: 'why', stack: cause.stack },
  });
});

test('a message has a limited length, because an answer may be a whole HTML page', () => {
  expect(errorFields(new Error('x'.repeat(5000)), false)).toStrictEqual({ message: 'x'.repeat(1000) });
  expect(errorFields('x'.repeat(5000), false)).toStrictEqual({ message: 'x'.repeat(1000) });
});

test('circular causes end', () => {
  const error = new Error('a');
  error.cause = error;
  let fields = errorFields(error, false) as { message: string; cause?: typeof fields } | undefined;
  const messages: string[] = [];
  for (; fields !== undefined; fields = fields.cause) messages.push(fields.message);
  expect(messages).toEqual(['a', 'a', 'a', 'a', 'a']);
});
