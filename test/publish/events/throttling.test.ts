import { expect, test } from 'vitest';
import { createRetries, refusedScope, throttledScope } from '../../../src/publish/events/retry.ts';
import { series } from '../../builders.ts';

const reached = (type: string, key = 'team-a'): string => `limit reached on type ${type} for key ${key}`;

test.each([
  [`Too many requests: ${reached('Namespace')}`, 'namespace'],
  [`Too many requests: ${reached('SourceAndObject', 'kube-netfilter-tailer:web-0')}`, 'namespace'],
  [`Too many requests: [${reached('SourceAndObject', 'x')}, ${reached('Namespace')}]`, 'namespace'],
  [`Too many requests: ${reached('Server', '')}`, 'all'],
  [`Too many requests: ${reached('User', 'system:serviceaccount:a:b')}`, 'all'],
  [`Too many requests: [${reached('Server', '')}, ${reached('Namespace')}]`, 'all'],
  ['Too many requests, please try again later.', 'all'],
  ['Too many requests, please try again later. (post events)', 'all'],
  ['Too Many Requests', undefined],
  ['', undefined],
  [`Too many requests: x, ${reached('Namespace')}`, undefined],
])('429 "%s" is of %s', (message, scope) => {
  expect(throttledScope({ message })).toBe(scope);
});

test.each([
  [401, 0, 'all'],
  [401, 30_000, 'all'],
  [500, 999, 'all'],
  [500, 1000, undefined],
  [0, 30_000, undefined],
])('a refusal with status %d after %d ms is of %s', (status, took, scope) => {
  expect(refusedScope({ kind: 'refused', status, message: '' } as never, took)).toBe(scope);
});

test('after an outage, first Events use the budget of others, and ended flows keep theirs', () => {
  const retries = createRetries(
    () => 0,
    () => 0,
  );
  const paced = () => (['first', 'more', 'final'] as const).map((kind) => retries.paced(kind));
  expect(paced()).toEqual(['first', 'more', 'final']);
  const refusal = { kind: 'refused', status: 503, reason: '', message: '', retryAfter: undefined } as const;
  retries.endAfter(series(), { kind: 'refused', verb: 'create', refusal }, 0);
  retries.pause();
  expect(paced()).toEqual(['more', 'more', 'final']);
});
