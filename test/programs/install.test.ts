import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Place } from './find.ts';
import { installPrograms } from './install.ts';
import { restrictPath } from './path.ts';
import type { Row } from './table.ts';

/** A machine on which nothing is installed: its PATH is an empty folder. */
let folder: string;
let place: Place;

const row = (name: string, programs: readonly string[], more: Partial<Row> = {}): Row => {
  return { package: name, programs, uses: ['e2e'], purpose: '', ...more };
};

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kube-netfilter-tailer-install-'));
  const rows = [
    row('iproute2', ['ip', 'ss']),
    row('ulogd2-json', [], { files: [join(folder, 'plugin.so')] }),
    row('qemu', ['qemu'], { uses: ['arm64'] }),
  ];
  place = {
    rows,
    env: { PATH: folder },
    cache: join(folder, 'cache'),
    policy: join(folder, 'policy-rc.d'),
    isRoot: true,
  };
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const missing =
  '[programs] missing: ip, ss (Debian package iproute2); PLUGIN (Debian package ulogd2-json). They are installed where this runs as root on ' +
  'Debian; else run as root: apt-get install --no-install-recommends iproute2 ulogd2-json';

test('without apt-get the error names what is missing, of which package, and what to do', async () => {
  await expect(installPrograms('e2e', place)).rejects.toThrow(missing.replace('PLUGIN', join(folder, 'plugin.so')));
});

test('without root nothing is installed', async () => {
  aptGet(installing);
  await expect(installPrograms('e2e', { ...place, isRoot: false })).rejects.toThrow(
    'else run as root: apt-get install',
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

test('a failed installation says why', async () => {
  aptGet('echo "E: Unable to locate package" >&2; exit 100');
  await expect(installPrograms('e2e', place)).rejects.toThrow('E: Unable to locate package');
});

test('packages that do not have the programs are not enough', async () => {
  aptGet('exit 0');
  await expect(installPrograms('e2e', place)).rejects.toThrow('ip, ss (Debian package iproute2)');
});

test('no daemon is started meanwhile', async () => {
  aptGet(`./policy-rc.d; echo "policy $?" >> calls; ${installing}`);
  await installPrograms('e2e', place);
  expect(calls()[1]).toBe('policy 101');
  expect(existsSync(place.policy)).toBe(false);
});

test("the machine's own policy stays", async () => {
  writeFileSync(place.policy, 'its own');
  aptGet(installing);
  await installPrograms('e2e', place);
  expect(readFileSync(place.policy, 'utf8')).toBe('its own');
});

test('a policy that a killed run has left is taken away', async () => {
  aptGet(`cp policy-rc.d left; ${installing}`.replace('cp', '/bin/cp'));
  await installPrograms('e2e', place);
  writeFileSync(place.policy, readFileSync(join(folder, 'left')));
  rmSync(join(folder, 'ip'));
  await installPrograms('e2e', place);
  expect(existsSync(place.policy)).toBe(false);
});

test('a package that would start a server is unpacked, not installed', async () => {
  place = { ...place, rows: [row('prometheus', ['promtool'], { unpacked: true })] };
  aptGet('echo packed > "$OLDPWD/prometheus.deb"');
  program('dpkg-deb', '/bin/mkdir -p "$3/usr/bin"; : > "$3/usr/bin/promtool"; /bin/chmod +x "$3/usr/bin/promtool"\n');
  await installPrograms('e2e', place);
  expect(calls()).toEqual(['download prometheus']);
  expect(readdirSync(place.cache)).toEqual(['promtool']);
});

test('a package of PyPI is unpacked into the cache, without what it depends on, and once', async () => {
  place = { ...place, rows: [row('rotel', ['agent'], { wheel: { version: '1.0', folder: 'rotel' } })] };
  program('pip3', `echo "$*" >> ${folder}/calls; while [ "$1" != --dest ]; do shift; done; : > "$2/rotel.whl"\n`);
  program('python3', '/bin/mkdir "$5/rotel"; : > "$5/rotel/agent"\n');
  await installPrograms('e2e', place);
  await installPrograms('e2e', place);
  expect(calls()).toEqual([expect.stringMatching(/^download .*--no-deps .*rotel==1\.0$/)]);
  expect(realpathSync(join(place.cache, 'agent'))).toBe(join(place.cache, 'wheels/rotel-1.0/rotel/agent'));
});

test('without pip the error names the package of PyPI', async () => {
  place = { ...place, rows: [row('rotel', ['agent'], { wheel: { version: '1.0', folder: 'rotel' } })] };
  await expect(installPrograms('e2e', place)).rejects.toThrow('rotel 1.0 (PyPI package rotel)');
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
