import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../../config/reading.ts';
import type { Check } from '../../../src/commands/doctor/check.ts';
import { checkProgramSource } from '../../../src/commands/doctor/checks/program-source.ts';
import { lookAtProgramLog } from '../../../src/commands/doctor/program-log.ts';
import { runChecks } from '../../../src/commands/doctor/run-checks.ts';
import type { System } from '../../../src/commands/doctor/system.ts';
import { doctorTasks } from '../../../src/commands/doctor/tasks.ts';
import { createPrefixTable } from '../../../src/parsing/netfilter/prefixes.ts';
import { nine } from '../../builders.ts';
import { printedAsJson } from '../../sources/fake-journalctl.ts';
import { asUnprivileged } from '../../sources/tail/as-unprivileged.ts';
import { temporaryFolder } from '../../sources/temporary-folder.ts';
import { fakeApi, fakeSystem, programs } from './fake.ts';
import { beginning } from '../../subject.ts';

const within = temporaryFolder();

function checked(path: string): string {
  const { name, status, finding } = checkProgramSource({ program: 'k3s', path }, lookAtProgramLog(path), nine);
  return `${name} ${status}: ${finding}`.replaceAll(path, '/a');
}

describe('the log file of a program', () => {
  test.each<[string, (path: string) => void, string]>([
    [
      'there',
      (path) => {
        writeFileSync(path, '');
        utimesSync(path, (nine - 5000) / 1000, (nine - 5000) / 1000);
      },
      'ok: /a: last written 5s ago',
    ],
    ['missing', () => {}, 'warning: /a is not there; …'],
    ['a link to nowhere', (path) => symlinkSync('nowhere', path), 'warning: /a is not there; …'],
    ['a folder', (path) => mkdirSync(path), 'problem: /a is a folder: …'],
    ['a pipe', (path) => execFileSync('mkfifo', [path]), 'problem: /a is a named pipe: …'],
  ])('%s', (name, make, expected) => {
    const path = within(name);
    make(path);
    expect(checked(path)).toEqual(beginning(`source program:k3s=/a ${expected}`));
  });

  test('not to be read', () => {
    const path = within('shut');
    writeFileSync(path, '');
    chmodSync(path, 0);
    expect(asUnprivileged(() => checked(path))).toMatch(
      /^source program:k3s=\/a problem: \/a cannot be read: permission denied/,
    );
  });
});

async function sources(setting: string, given: Partial<System>, units = 'k3s kube-proxy'): Promise<string[]> {
  const config = readConfig({}, { NODE_NAME: 'node-a', SOURCES: setting, UNITS: units });
  const tasks = doctorTasks({
    config,
    problems: [],
    warnings: [],
    api: fakeApi(() => undefined),
    ownPod: undefined,
    prefixes: createPrefixTable(),
    system: fakeSystem(given),
  });
  const wanted = tasks.filter(({ name }) => name.startsWith('source '));
  const checks: Check[] = await runChecks({ tasks: wanted, timeout: 5000, schedule: () => () => {} });
  return checks.map(({ name, status, finding }) => `${name} ${status}: ${finding}`);
}

const findPrograms: System['findPrograms'] = () => [{ program: 'kube-proxy', path: '/var/log/kube-proxy.log' }];

test('what auto finds has a line, too, but not where it is named itself', async () => {
  const missing = 'warning: /var/log/kube-proxy.log is not there';
  expect((await sources('auto', { findPrograms })).at(-1)).toBe(
    `source program:kube-proxy=/var/log/kube-proxy.log ${missing}`,
  );
  const named = await sources('auto,program:k3s=/var/log/kube-proxy.log', { findPrograms });
  expect(named.slice(1)).toEqual([`source program:k3s=/var/log/kube-proxy.log ${missing}`]);
  expect(await sources('file:/a', { findPrograms })).toHaveLength(1);
});

const field = 'journalctl --quiet --no-pager --directory=/j --field=_SYSTEMD_UNIT';

/** Returns the lines of the check that follow the kernel's. */
async function look(fields: Parameters<typeof programs>[0], units?: string): Promise<string | undefined> {
  const run = programs({ journalctl: printedAsJson({ number: 1, message: 'x' }), ...fields });
  const [line] = await sources('journal:/j', { findJournal: () => ({ directory: '/j' }), run }, units);
  return line?.replace(/^.*\)/, '');
}

describe('units in the journal', () => {
  test('those that have records are named', async () => {
    expect(await look({ [field]: 'ssh.service\nk3s.service\n' })).toBe('; records of k3s.service');
    expect(await look({ [field]: 'ssh.service\n' })).toBe('; no records of UNITS');
  });

  test('no units are reported where none is named, or the journal cannot be read', async () => {
    expect(await look({ [field]: { kind: 'failed', reason: 'no' } })).toBe('');
    expect(await look({}, ' ,')).toBe('');
  });
});
