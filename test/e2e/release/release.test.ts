import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { load } from 'js-yaml';
import { beforeAll, expect, test } from 'vitest';
import { imageOf } from '../../../scripts/release/chart.ts';
import { sha256Of } from '../../../scripts/release/plugin.ts';
import { readProject } from '../../../scripts/release/project.ts';
import { root } from '../../deploy/manifests.ts';
import { helmOfFile } from '../helm/helm.ts';
import { ensureOldestNode } from './oldest-node.ts';

/** The files of a release, made once. Each is used as a person who downloads it would use it. */

const start = promisify(execFile);
const project = readProject();
const helm = helmOfFile();
let folder: string;
/** The files in the archives of the executable and of the plugin. */
let unpacked: string;
let printed: string;

beforeAll(async () => {
  folder = join(helm.folder, 'release');
  const args = ['scripts/release/release.ts', '--dry', '--processor', process.arch, '--output', folder];
  ({ stdout: printed } = await start(process.execPath, args, { cwd: root }));
  unpacked = join(helm.folder, 'unpacked');
  mkdirSync(unpacked);
  for (const part of ['linux', 'kubectl-drops'])
    await start('tar', ['-xzf', named('.tar.gz', part)], { cwd: unpacked });
}, 900_000);

test('files that were made are listed with their checksums, and missing ones are named', () => {
  for (const name of readdirSync(folder))
    expect(printed).toMatch(
      new RegExp(`^  ${RegExp.escape(name)} +\\S+ [KM]iB  sha256 ${sha256Of(join(folder, name))}$`, 'm'),
    );
  for (const step of ['image', 'signatures', 'chart', 'npm', 'GitHub'])
    expect(printed).toMatch(new RegExp(`^  ${step} `, 'm'));
});

test('SHA256SUMS has each file to download', () => {
  const sums = readFileSync(join(folder, 'SHA256SUMS'), 'utf8');
  const others = new Set(['SHA256SUMS', 'NOTES.md']);
  const expected = readdirSync(folder).filter((name) => !others.has(name));
  expect(sums.trim().split('\n').toSorted()).toEqual(
    expected.map((name) => `${sha256Of(join(folder, name))}  ${name}`).toSorted(),
  );
});

test('the npm package, installed without a network, replays every sample with the present Node.js', async () => {
  expect(await tried()).toMatch(/: \d+ samples replayed, 0 failed\n$/);
});

test('the npm package replays every sample with the oldest Node.js that package.json allows', async () => {
  const node = await ensureOldestNode();
  const { stdout: version } = await start(node, ['--version']);
  expect(version).toBe(`v${project.engines.node.replace('>=', '')}.0\n`);
  expect(await tried(node)).toMatch(/: \d+ samples replayed, 0 failed\n$/);
});

test('the executable runs without Node.js, in its own folder', async () => {
  const program = join(contentOf('linux'), 'kube-netfilter-tailer');
  const samples = join(root, 'samples');
  const args = ['replay', '--pods', join(samples, 'cluster.json'), '--now', '2026-11-21T20:00:00Z', '--output', 'json'];
  const { stdout } = await start(program, [...args, join(samples, 'policy-deny.log')], { cwd: '/', env: {} });
  const { events } = JSON.parse(readFileSync(join(samples, 'policy-deny.expected.json'), 'utf8')) as {
    events: unknown;
  };
  expect(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual(events);
});

test('the executable runs no other file that has the name of one of its parts, and contains no path of its builder', async () => {
  const program = join(contentOf('linux'), 'kube-netfilter-tailer');
  const foreign = join(helm.folder, 'foreign');
  mkdirSync(foreign);
  writeFileSync(join(foreign, 'kube-netfilter-tailer-report.cjs'), 'console.log("run")');
  await expect(start(program, ['report', 'rows.ndjson'], { cwd: foreign, env: {} })).rejects.toMatchObject({
    code: 2,
    stdout: '',
  });
  const binary = readFileSync(program);
  expect([root, helm.folder].map((path) => binary.includes(path))).toEqual([false, false]);
});

test('the chart names the image of the release, and requires no value', async () => {
  const { code, stdout } = await helm.run(['show', 'values', named('.tgz', 'chart')]);
  expect(code).toBe(0);
  const image = imageOf(project);
  expect(load(stdout)).toMatchObject({ image: { registry: '', repository: image } });
  expect(await imagesOf([])).toEqual([image]);
});

test.each([
  [
    'image.repository with its registry',
    ['image.repository=registry.corp.example/platform/x'],
    'registry.corp.example/platform/x',
  ],
  ['image.repository with a port', ['image.repository=registry:5000/x'], 'registry:5000/x'],
  ['image.registry', ['image.registry=registry.corp.example/mirror'], `registry.corp.example/mirror/OWN`],
  ['global.imageRegistry', ['global.imageRegistry=registry.corp.example'], `registry.corp.example/OWN`],
  [
    'image.registry and image.repository',
    ['image.registry=registry.corp.example', 'image.repository=platform/x'],
    'registry.corp.example/platform/x',
  ],
])("an image named by %s has no part of the release's name", async (_, values, expected) => {
  const own = imageOf(project).replace('ghcr.io/', '');
  expect(await imagesOf(values)).toEqual([expected.replace('OWN', own)]);
});

test('links in the README of the chart lead to the files of the release', async () => {
  const { stdout } = await start(helm.path, ['show', 'readme', named('.tgz', 'chart')]);
  expect(stdout).toContain(`](${project.homepage}/blob/v${project.version}/docs/deploy.md#with-helm)`);
  expect(stdout).not.toContain('](../');
});

test('the manifest of krew names the archives that were made, and their contents', async () => {
  const { spec } = load(readFileSync(join(folder, 'drops.yaml'), 'utf8')) as {
    spec: { platforms: { selector: object; uri: string; sha256: string; bin: string; files: { from: string }[] }[] };
  };
  const linux = { matchLabels: { os: 'linux', arch: process.arch === 'x64' ? 'amd64' : process.arch } };
  expect(spec.platforms.map(({ selector }) => selector)).toEqual([linux, { matchLabels: { os: 'darwin' } }]);
  for (const { uri, sha256, bin, files } of spec.platforms) {
    const archive = join(folder, uri.replace(/^.*\//, ''));
    expect(sha256).toBe(sha256Of(archive));
    const { stdout } = await start('tar', ['-tzf', archive]);
    const from = files.map((file) => file.from);
    const inArchive = stdout.split('\n');
    expect(inArchive).toEqual(expect.arrayContaining(from.filter((path) => !path.endsWith('/*'))));
    const [kept = ''] = from.map((path) => dirname(path));
    expect(inArchive).toContain(`${kept}/${bin}`);
    expect(from.some((path) => path === `${kept}/*` || path === `${kept}/${bin}`)).toBe(true);
  }
});

test("the executable under krew's name, and the plug-in for macOS with Node.js, are kubectl drops", async () => {
  const program = join(contentOf('linux'), 'kube-netfilter-tailer');
  const link = join(helm.folder, 'kubectl-drops');
  symlinkSync(program, link);
  expect((await start(link, ['--help'], { env: {} })).stdout).toMatch(/^Usage: kubectl drops /);
  const bundled = join(helm.folder, 'kubectl-drops-of-node');
  mkdirSync(bundled);
  symlinkSync(join(contentOf('kubectl-drops'), 'bin/kubectl-drops.cjs'), join(bundled, 'kubectl-drops'));
  const byNode = [join(bundled, 'kubectl-drops'), '--help'];
  expect((await start(process.execPath, byNode, { env: {} })).stdout).toMatch(/^Usage: kubectl drops /);
  const older = join(bundled, 'older.cjs');
  writeFileSync(older, "Object.defineProperty(process.versions, 'node', { value: '20.20.2' });");
  await expect(start(process.execPath, ['--require', older, ...byNode], { env: {} })).rejects.toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('20.20.2') as string,
  });
});

async function tried(node?: string): Promise<string> {
  const env = { ...process.env, ...(node === undefined ? {} : { TRY_NODE: node }) };
  const { stdout } = await start(
    process.execPath,
    ['scripts/release/try-package.mjs', join(folder, `kube-netfilter-tailer-${project.version}.tgz`)],
    { cwd: root, env },
  );
  return stdout;
}

/** Returns the images without their tags. */
async function imagesOf(values: readonly string[]): Promise<string[]> {
  const set = values.flatMap((value) => ['--set', value]);
  const { stdout } = await start(helm.path, ['template', 'drops', named('.tgz', 'chart'), ...set]);
  const tag = `:${project.version}-journal`;
  return Array.from(stdout.matchAll(/^ +image: "(.+)"$/gm), ([, image = '']) => image.replace(tag, ''));
}

function named(ending: string, part: string): string {
  return join(folder, readdirSync(folder).find((name) => name.endsWith(ending) && name.includes(part)) ?? '');
}

function contentOf(part: string): string {
  return join(unpacked, basename(named('.tar.gz', part), '.tar.gz'));
}
