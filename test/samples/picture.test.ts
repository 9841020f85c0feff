import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { picture } from '../../scripts/picture.ts';

test("docs/picture.svg shows the program's real output (npm run update -- picture)", async () => {
  expect(readFileSync(new URL('../../docs/picture.svg', import.meta.url), 'utf8')).toBe(await picture());
});
