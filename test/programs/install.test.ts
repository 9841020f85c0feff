import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { installPrograms, type Place, restrictPath } from './install.ts';
import { readTable } from './table.ts';

/** A machine on which nothing is installed: its PATH is an empty folder. */
let folder: string;
let place: Place;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kube-netfilter-tailer-install-'));
  const rows = readTable(`e2e iproute2 ip ss\ne2e ulogd2-json ${folder}/plugin.so\narm64 qemu qemu\n`);
  place = { rows, path: folder, cache: join(folder, 'cache'), policy: join(folder, 'policy-rc.d'), isRoot: true };
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('without root nothing is installed, and the error names what is missing, of which package, and what to do', async () => {
  aptGet(installing);
  await expect(installPrograms('e2e', { ...place, isRoot: false })).rejects.toThrow(
    `[programs] missing: ip, ss (package iproute2); ${folder}/plugin.so (package ulogd2-json). They are installed where this runs as ` +
      'root on Debian; else run as root: apt-get install --no-install-recommends iproute2 ulogd2-json',
  );
  expect(existsSync(join(folder, 'calls'))).toBe(false);
});

test('only what is missing is installed, and only of this use', async () => {
  for (const name of ['ip', 'ss']) program(name, '');
  aptGet(': > plugin.so');
  await installPrograms('e2e', place);
  await installPrograms('e2e', place);
  expect(calls()).toEqual(['install -y --no-install-recommends ulogd2-json']);
});

test('all packages are installed at once; a machine without package lists gets them first', async () => {
  aptGet(`case $1 in update) : > lists ;; *) [ -e lists ] || exit 100; ${installing} ;; esac`);
  await installPrograms('e2e', place);
  const installation = 'install -y --no-install-recommends iproute2 ulogd2-json';
  expect(calls()).toEqual([installation, 'update', installation]);
});

test('a failed installation says why, and packages that do not have the programs are not enough', async () => {
  aptGet('echo "E: Unable to locate package" >&2; exit 100');
  await expect(installPrograms('e2e', place)).rejects.toThrow('E: Unable to locate package');
  aptGet('exit 0');
  await expect(installPrograms('e2e', place)).rejects.toThrow('ip, ss (package iproute2)');
});

test("no daemon is started meanwhile, and the machine's own policy stays", async () => {
  aptGet(`./policy-rc.d; echo "policy $?" >> calls; /bin/cp policy-rc.d left; ${installing}`);
  await installPrograms('e2e', place);
  expect(calls()[1]).toBe('policy 101');
  expect(existsSync(place.policy)).toBe(false);
  // As a killed run leaves it.
  renameSync(join(folder, 'left'), place.policy);
  rmSync(join(folder, 'ip'));
  await installPrograms('e2e', place);
  expect(existsSync(place.policy)).toBe(false);
  rmSync(join(folder, 'ip'));
  program('policy-rc.d', 'exit 7');
  await installPrograms('e2e', place);
  expect(calls().at(-1)).toBe('policy 7');
  expect(existsSync(place.policy)).toBe(true);
});

test('a package that would start a server is unpacked, and one of PyPI has a folder in the cache', async () => {
  place = { ...place, rows: readTable('e2e unpack:prometheus promtool\ne2e rotel==1.0 rotel/agent\n'), isRoot: false };
  aptGet('echo packed > "$OLDPWD/prometheus.deb"');
  program('dpkg-deb', '/bin/mkdir -p "$3/usr/bin"; : > "$3/usr/bin/promtool"; /bin/chmod +x "$3/usr/bin/promtool"\n');
  program('pip3', 'while [ "$1" != --target ]; do shift; done; /bin/mkdir -p "$2/rotel"; : > "$2/rotel/agent"\n');
  await installPrograms('e2e', place);
  expect(calls()).toEqual(['download prometheus']);
  expect(readdirSync(place.cache).toSorted()).toEqual(['promtool', 'wheels']);
  expect(readdirSync(join(place.cache, 'wheels/rotel-1.0'))).toEqual(['rotel']);
});

test('PATH has the programs of the table and no others', () => {
  for (const name of ['ip', 'other']) program(name, '');
  const before = process.env['PATH'];
  const restore = restrictPath('e2e', place);
  const own = process.env['PATH'] ?? '';
  try {
    expect(readdirSync(own).toSorted()).toEqual(['ip', 'node']);
  } finally {
    restore();
  }
  expect([process.env['PATH'], existsSync(own)]).toEqual([before, false]);
});

const installing = 'for tool in ip ss plugin.so; do : > $tool; /bin/chmod +x $tool; done';

function aptGet(script: string): void {
  program('apt-get', `cd ${folder}; echo "$*" >> calls\n${script}\n`);
}

function program(name: string, script: string): void {
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}`);
  chmodSync(join(folder, name), 0o755);
}

function calls(): readonly string[] {
  return readFileSync(join(folder, 'calls'), 'utf8').trimEnd().split('\n');
}
