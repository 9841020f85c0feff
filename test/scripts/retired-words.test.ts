import { RuleTester } from 'oxlint/plugins-dev';
import { describe, test } from 'vitest';
import { rule } from '../../scripts/lint/retired-words.ts';

RuleTester.describe = describe;
RuleTester.it = test;

const filename = 'src/x/limit.ts';
const found = (...words: readonly string[]) => ({
  filename,
  errors: words.map((word) => ({ message: new RegExp(`^"${word}"`) })),
});

new RuleTester().run('words/retired', rule, {
  valid: [
    'const toldest = 1;',
    "const text = 'nobody was told';",
    "log('the clock was set back');",
    '// See https://example.com/told/nobody',
    '// kubelet prints `nobody told me` then.',
    '// A mirror Pod has no owner; a JSON Pointer begins with a slash.',
    '// Worth counting.',
    "import { x } from './told.ts';",
    { filename: 'scripts/arm64-proof.ts', code: '// scripts/bare-proof.sh runs it' },
  ].map((code) => (typeof code === 'string' ? { filename, code } : code)),
  invalid: [
    { ...found('told'), code: 'const toldLimit = 1; use(toldLimit);' },
    { ...found('told'), code: 'const HTTPTold = 1;' },
    { ...found('set back'), code: 'const wasSetBack = 1;' },
    { ...found('counting'), code: 'const counting = {};' },
    { ...found('nobody', 'tells'), code: '/** Nobody\n * tells. */' },
    { ...found('left alone'), code: '/** It is left\n * alone. */' },
    { ...found('told'), code: '// Whether `told` is empty.' },
    { ...found('anew'), code: "test('it begins anew', () => {});" },
    { ...found('anew'), code: "describe.each([1])('it begins anew', () => {});" },
    { ...found('anew'), code: 'test(`it begins anew ${1}`, () => {});' },
    { ...found('troubles'), filename: 'src/agent/troubles.ts', code: '' },
  ],
});
