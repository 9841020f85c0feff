import { expect, test } from 'vitest';
import { errorFields } from '../../src/telemetry/logger.ts';

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
])('what the log keeps of an error: %s', (_, error, expected) => {
  expect(errorFields(error, false)).toStrictEqual(expected);
});

test('a stack only if it is asked for, of causes too', () => {
  const cause = new Error('why');
  const error = new Error('no', { cause });
  expect(errorFields(error, true)).toStrictEqual({
    message: 'no',
    stack: error.stack,
    cause: { message: 'why', stack: cause.stack },
  });
});

test('a message has a limit: an answer may be a whole page of HTML', () => {
  expect(errorFields(new Error('x'.repeat(5000)), false)).toStrictEqual({ message: 'x'.repeat(1000) });
  expect(errorFields('x'.repeat(5000), false)).toStrictEqual({ message: 'x'.repeat(1000) });
});

test('a circle of causes ends', () => {
  const error = new Error('a');
  error.cause = error;
  let fields = errorFields(error, false) as { message: string; cause?: typeof fields } | undefined;
  const messages: string[] = [];
  for (; fields !== undefined; fields = fields.cause) messages.push(fields.message);
  expect(messages).toEqual(['a', 'a', 'a', 'a', 'a']);
});
