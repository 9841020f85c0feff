import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ensureTools, missingRequirements } from './tools.ts';

// The PATH of a machine on which nothing is installed.
let folder: string;
let env: NodeJS.ProcessEnv;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kube-netfilter-tailer-tools-'));
  env = { PATH: folder };
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test('nothing is missing on this machine', async () => {
  await ensureTools();
  expect(missingRequirements()).toEqual([]);
});

test('without apt-get the error names what is missing', async () => {
  await expect(ensureTools(env)).rejects.toThrow(
    'ip (Debian package iproute2); iptables-legacy (Debian package iptables); ip6tables-legacy (Debian package iptables); ' +
      'iptables-nft (Debian package iptables); ip6tables-nft (Debian package iptables); ping (Debian package iputils-ping); crun (Debian package crun); ' +
      'journalctl (Debian package systemd)',
  );
});

test('only what is missing is installed', async () => {
  await program('ip', '');
  await aptGet(installing);
  await ensureTools(env);
  expect(await calls()).toEqual(['install -y --no-install-recommends iptables iputils-ping crun systemd']);
});

test('a machine without package lists gets them first', async () => {
  await aptGet(`case $1 in update) : > lists ;; *) [ -e lists ] || exit 100; ${installing} ;; esac`);
  await ensureTools(env);
  const installation = 'install -y --no-install-recommends iproute2 iptables iputils-ping crun systemd';
  expect(await calls()).toEqual([installation, 'update', installation]);
});

test('a failed installation says why', async () => {
  await aptGet('echo "E: Unable to locate package" >&2; exit 100');
  await expect(ensureTools(env)).rejects.toThrow('E: Unable to locate package');
});

test('packages that do not have the programs are not enough', async () => {
  await aptGet('exit 0');
  await expect(ensureTools(env)).rejects.toThrow('ip (Debian package iproute2)');
});

const installing =
  'for tool in ip iptables-legacy ip6tables-legacy iptables-nft ip6tables-nft ping crun journalctl; do : > $tool; /bin/chmod +x $tool; done';

async function aptGet(script: string): Promise<void> {
  await program('apt-get', `cd ${folder}; echo "$*" >> calls\n${script}\n`);
}

async function program(name: string, script: string): Promise<void> {
  await writeFile(join(folder, name), `#!/bin/sh\n${script}`);
  await chmod(join(folder, name), 0o755);
}

async function calls(): Promise<readonly string[]> {
  return (await readFile(join(folder, 'calls'), 'utf8')).trimEnd().split('\n');
}
