import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createJournal } from '../../../src/read/sources/journald/journal.ts';
import type { Position, Source } from '../../../src/read/sources/source.ts';
import { type Heard, listening } from '../../read/sources/heard.ts';
import { type Journald, type JournaldUnit, startJournald } from './rig.ts';

/** Where a real journald ends a record of a service, and what the next record may begin with. */

const limit = { timeout: 60_000, interval: 20 };
const header = 'E1121 09:00:00.836390 77 proxier.go:1564] ';
const failing = `${header}"Failed to execute iptables-restore"`;
const forged = `${failing} forged`;
const quiet = 'I1121 09:00:00.836390 77 proxier.go:822] "Syncing"';
const hook = 'E1121 09:00:00.836390 77 kuberuntime.go:1] "PostStartHook failed" err=<';

let journald: Journald;
let unit: JournaldUnit;
let opened: Source[];
beforeEach(async () => {
  opened = [];
  journald = await startJournald();
  unit = await journald.startUnit('k3s.service');
});
afterEach(async () => {
  for (const source of opened) source.stop();
  await unit.stop();
  await journald.stop();
});

function open(saved?: Position): { source: Source; heard: Heard; texts: () => string[] } {
  const { heard, listener } = listening();
  const units = { names: ['k3s.service'], needles: ['tables-restore'] };
  const { directory } = journald;
  const source = createJournal({ directory, saved, since: 0, listener, needles: [], units });
  opened.push(source);
  source.start();
  const texts = (): string[] => heard.lines.flatMap(({ origin, text }) => (origin === 'program' ? [text] : []));
  return { source, heard, texts };
}

test.each([
  ['a NUL byte', [hook, `\tpwned\0${forged}`, ' >']],
  ['a NUL byte at the start of a line of the hook', [hook, `\t\0${forged}`, ' >']],
  ['several NUL bytes', [hook, `\tpwned\0\0\0<3>${forged}\0${forged}`, ' >']],
  ['as much as fits into a record', [hook, `\t${'x'.repeat(48 * 1024 - 1)}${forged}`, ' >']],
])('text that follows %s is not a record of k3s', async (_, lines) => {
  const { texts } = open();
  for (const line of [quiet, ...lines, failing, quiet]) unit.write(line);
  await vi.waitFor(() => expect(texts().some((text) => text.startsWith(failing))).toBe(true), limit);
  expect(texts().filter((text) => text.startsWith(header))).toEqual([failing]);
  expect(texts().filter((text) => text.includes('forged'))).toEqual([]);
});

test('a source that continues knows how the last record ended', async () => {
  const first = open();
  for (const line of [quiet, failing, quiet]) unit.write(line);
  await vi.waitFor(() => expect(first.texts()).toEqual([failing]), limit);
  first.source.stop();
  const saved = JSON.parse(JSON.stringify(first.source.position)) as Position;
  for (const line of [`${failing} again`, `\tpwned\0${forged}`, quiet]) unit.write(line);
  const second = open(saved);
  await vi.waitFor(() => expect(second.texts()).toEqual([`${failing} again\n\tpwned`]), limit);
});
