import { expect, it } from 'vitest';
import { signOf } from '../../../src/incidents/catalogue/catalogue.ts';
import { parseProgramRecord } from '../../../src/parsing/components/program-record.ts';
import { lines } from './lines.ts';

it.each(lines.map((row) => [row.name, row] as const))(
  'a record is known as the cause it is of: %s',
  (_, { text, sign: expected }) => {
    const record = parseProgramRecord(text);
    const sign = record && signOf(record);
    if (expected === undefined) expect(sign).toBeUndefined();
    else if ('sync' in expected) {
      const { sync, ...rest } = expected;
      expect(sign).toMatchObject({ kind: sync, ...rest });
    } else expect(sign).toMatchObject({ kind: 'failure', ...expected });
  },
);
