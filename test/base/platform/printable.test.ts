import fc from 'fast-check';
import { expect, test } from 'vitest';
import { printable, printableJson, withoutMarkup } from '../../../src/base/platform/printable.ts';
import { forAll } from '../../for-all.ts';

test.each([
  ['calico-drop: größer 拒否 🔥 👩‍👩', 'calico-drop: größer 拒否 🔥 👩\\u200d👩'],
  ['\u001b[31m\t\n\u007f\u0085\u009b', '\\x1b[31m\\x09\\x0a\\x7f\\x85\\x9b'],
  ['a\u00ad\u061c\u200b\u202e\u2066\ufeffb', 'a\\xad\\u061c\\u200b\\u202e\\u2066\\ufeffb'],
  ['\u2028\u2029', '\\u2028\\u2029'],
  ['\u{e0041}', '\\u{e0041}'],
  ['web\u034f\u115f\u3164\ufe0f\uffa0-0', 'web\\u034f\\u115f\\u3164\\ufe0f\\uffa0-0'],
  ['\u{e0100}\u{e01ef}', '\\u{e0100}\\u{e01ef}'],
  ['\ud83d \udd25', '\\ud83d \\udd25'],
])('%j is shown as %s', (text, shown) => {
  expect(printable(text)).toBe(shown);
});

test('JSON keeps its value, and cannot control a terminal', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('\u009b', '\u202e', '\u{e0041}', '\u3164', '\ud83d', '\n'),
  );
  forAll([fc.dictionary(text, text), fc.constantFrom(undefined, 2)], {}, (value, indent) => {
    const json = printableJson(JSON.stringify(value, undefined, indent));
    expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(value)));
    expect(json.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/u);
  });
});

test.each([
  ['<!channel> <@U012> <https://evil.example|Runbook>', '‹!channel> ‹@U012> ‹https[:]//evil.example|Runbook>'],
  ["cali1 → eth0, printf '%s' >> file & 5 > 4", "cali1 → eth0, printf '%s' >> file & 5 > 4"],
])('%s has neither a mention nor a link', (text, shown) => {
  expect(withoutMarkup(text)).toBe(shown);
});
