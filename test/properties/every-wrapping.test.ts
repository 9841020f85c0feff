import fc from 'fast-check';
import { expect, test } from 'vitest';
import { signOf } from '../../src/explain/incidents/catalogue/catalogue.ts';
import { programNeedles } from '../../src/explain/incidents/incidents.ts';
import { connectFailure, kernelDrop } from '../../src/base/model/packet.ts';
import type { ProgramRecord } from '../../src/base/model/program-record.ts';
import { formats, parse } from '../../src/read/parsing/formats.ts';
import { createPrefixTable } from '../../src/read/parsing/netfilter/prefixes.ts';
import { lines as corpus } from '../corpus/lines.ts';
import { lines as incidents } from '../explain/incidents/catalogue/lines.ts';
import { forAllAsync } from '../for-all.ts';
import { createLineReaders, type Reading } from './line-readers.ts';
import { anyDocument, anyLayers } from './structures.ts';
import type { Wrapping } from './wrapping.ts';

/*
 * Wrapping changes nothing, and all readers decide the same: lines of all formats, and records of kube-proxy and
 * calico-node, some of several lines, in up to three random wrappers within one another. `--explain`, `replay`,
 * `doctor` and the agent's `file:` are compared with the bare line and with one another.
 */

const isFuzz = process.env['FUZZ'] !== undefined;
const numRuns = isFuzz ? 3000 : 150;
/** With three nested wrappers, one case in a thousand is not read right. The fuzz tries them. */
const layers = anyLayers(isFuzz ? 3 : 1);
const inDocuments = isFuzz ? anyLayers(1) : fc.constant<readonly Wrapping[]>([]);
const taken = Date.UTC(2026, 10, 21, 11);
const readers = createLineReaders();
const table = createPrefixTable();

interface Subject {
  name: string;
  text: string;
  /** The agent believes no file about programs, and does not search files for their records. */
  isOfProgram: boolean;
}

/**
 * A line of each format that is read whatever is around it, and a record of each cause that has a literal to search
 * for.
 */
const ofFormats = formats.flatMap(({ name, needles }): Subject[] => {
  // Only the agent reads the trace of the kernel.
  if (name === kernelDrop || name === connectFailure) return [];
  const own = corpus.filter(({ text }) => {
    const found = text.length < 4096 && !text.includes('\n') ? parse(text, table) : undefined;
    return (
      found !== undefined &&
      !['unparsable', 'refused'].includes(found.kind) &&
      needles.some((each) => text.includes(each)) &&
      // A bar in the line itself cannot be told from the bars of a table row.
      !text.includes(' | ')
    );
  });
  // Without the kernel's stamp, everything before a LOG line would be its prefix.
  const head = name === 'netfilter' ? 'Nov 21 10:15:03 node-b kernel: ' : '';
  return own.slice(0, 3).map(({ id, text }) => ({ name: `${name}, ${id}`, text: head + text, isOfProgram: false }));
});
const ofCauses = incidents
  // A line from the middle of a record is recognized only by its place in a log.
  .filter(
    ({ name, sign, text }) =>
      sign !== undefined &&
      !name.includes('out of the middle') &&
      programNeedles.some((needle) => text.includes(needle)),
  )
  .map(({ name, text }) => ({ name, text, isOfProgram: true }));
const anySubject = fc.oneof(fc.constantFrom(...ofFormats), fc.constantFrom(...ofCauses));

/**
 * What a reader makes of the texts. Lines without a meaning belong to the wrapper. A record counts as the sign that it
 * is.
 */
function meaningsOf(found: readonly Reading[]): unknown[] {
  return found.flatMap(({ observation }) => {
    if (observation === null) return [];
    const record = observation as ProgramRecord | { kind: 'other' };
    return [record.kind === 'program-record' ? (signOf(record) ?? 'no sign') : record];
  });
}

function wrapped(text: string, wrappings: readonly Wrapping[]): string {
  const lines = text.split('\n');
  return wrappings.reduce(
    (now, { wrap }) => wrap(now.replace(/\r?\n$/, '').split('\n'), taken),
    `${lines.join('\n')}\n`,
  );
}

async function expectSame({ name, text, isOfProgram }: Subject, wrappings: readonly Wrapping[]): Promise<void> {
  // A bullet before each line parts a record of several lines, and a quotation behind one is not a message without its header.
  if (/\n|^"/.test(text)) fc.pre(wrappings.every(({ needsStamp }) => needsStamp !== true));
  const inner = wrapped(text, wrappings);
  const title = [name, ...wrappings.map((each) => each.name), inner];
  const bare = await readers.replayed(`${text}\n`);
  const wanted = meaningsOf(bare);
  expect([...title, meaningsOf(await readers.replayed(inner))]).toEqual([...title, wanted]);
  if (wrappings.some(({ isLine }) => !isLine)) return;
  expect(['--explain', ...title, meaningsOf(readers.explained(inner))]).toEqual(['--explain', ...title, wanted]);
  expect(['doctor', ...title, await readers.checked(inner)]).toEqual([
    'doctor',
    ...title,
    await readers.checked(`${text}\n`),
  ]);
  if (!isOfProgram)
    expect(['file:', ...title, meaningsOf(readers.followed(inner))]).toEqual(['file:', ...title, wanted]);
}

test('lines of every format are found in lines of any structure', async () => {
  await forAllAsync([anySubject, layers], { numRuns }, expectSame);
});

test('lines of every format are found in documents of any structure', async () => {
  await forAllAsync([anySubject, inDocuments, anyDocument], { numRuns: numRuns / 3 }, (subject, inner, document) =>
    expectSame(subject, [...inner, document]),
  );
});
