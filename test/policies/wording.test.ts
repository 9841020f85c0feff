import { test } from 'vitest';
import { parseSelector } from '../../src/policies/calico/selector.ts';
import { expectLines } from '../expected-file.ts';

test('messages about selectors of Calico that are refused are as expected', async () => {
  const refused = [
    ['a comparison with =', 'a = "b"'],
    ['text after the end', 'has(a) b'],
    ['a text without its end', 'a == "b'],
    ['a text that is missing', 'a == '],
    ['a label of 513 characters', 'x'.repeat(513)],
    ['a set that does not end', 'a in {"x" "y"}'],
    ['more parentheses than the stack holds', '('.repeat(100_000)],
  ] as const;
  await expectLines(
    import.meta.dirname,
    'selectors.expected.txt',
    refused.map(([title, text]) => `${title}: ${messageOf(() => parseSelector(text))}`),
  );
});

function messageOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return (error as Error).message;
  }
  return 'is accepted';
}
