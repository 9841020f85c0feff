import { expect, it } from 'vitest';
import { signOf } from '../../../../src/explain/incidents/catalogue/catalogue.ts';
import { parseProgramRecord } from '../../../../src/read/parsing/components/program-record.ts';
import { expectLines } from '../../../expected-file.ts';
import { lines } from './lines.ts';

const read = lines.map((row) => {
  const record = parseProgramRecord(row.text);
  return { ...row, read: record && signOf(record) };
});

it('assigns each record to the cause that its row names', () => {
  const codes = read.map(({ name, read: sign }) => [name, sign?.kind === 'failure' ? sign.code : sign && 'sync']);
  expect(codes).toEqual(lines.map(({ name, sign }) => [name, sign]));
});

it('reads the expected signs from each record (signs.expected.txt)', async () => {
  const signs = read.flatMap(({ name, read: sign }) => (sign ? [`${name}: ${JSON.stringify(sign)}`] : []));
  await expectLines(import.meta.dirname, 'signs.expected.txt', signs);
});
