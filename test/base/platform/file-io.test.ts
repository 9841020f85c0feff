import { expect, test } from 'vitest';
import { hasReadEnough } from '../../../src/base/platform/file-io.ts';

test.each<[string, string, boolean]>([
  ['EPIPE', 'write', true],
  // A socket fails with this code if its reader left data unread, for example standard output in another Node.js.
  ['ECONNRESET', 'write', true],
  ['ECONNRESET', 'read', false],
  ['ENOSPC', 'write', false],
])('%s of %s means that the reader has closed the stream: %s', (code, syscall, expected) => {
  expect(hasReadEnough(Object.assign(new Error('no'), { code, syscall }))).toBe(expected);
});
