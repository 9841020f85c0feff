import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { transformSync } from 'esbuild';
import { load } from 'js-yaml';
import { expect, test } from 'vitest';
import { manifestOf } from '../../scripts/release/npm-package.ts';
import {
  chartFolder,
  ownerOf,
  placeholder,
  problemsOf,
  readProject,
  releaseNotes,
  root,
} from '../../scripts/release/project.ts';

const project = readProject();

test('package.json and Chart.yaml name the same home, repository and description', () => {
  const chart = load(readFileSync(join(root, chartFolder, 'Chart.yaml'), 'utf8')) as Record<string, unknown>;
  const { homepage, repository, bugs } = project;
  expect(chart).toMatchObject({ home: homepage, sources: [homepage] });
  expect(repository).toEqual({ type: 'git', url: `git+${homepage}.git` });
  expect(bugs).toBe(`${homepage}/issues`);
});

test('a checkout with a placeholder, a future date or another tag is refused, each with its file', () => {
  const problems = problemsOf(project, 'v9.9.9', { GITHUB_REPOSITORY: 'someone/fork' });
  const subjects = problems.map((problem) => problem.split(':')[0]);
  const isPlaced = project.homepage.includes(placeholder);
  expect(subjects).toContain(`the tag is v9.9.9, package.json has ${project.version}`);
  expect(subjects).toContain('package.json');
  expect(subjects.includes(`${chartFolder}/Chart.yaml`)).toBe(isPlaced);
});

test('the account of the repository is in lower case, as registries require', () => {
  expect(ownerOf({ ...project, homepage: 'https://github.com/My-Org/kube-netfilter-tailer' })).toBe('my-org');
  expect(ownerOf({ ...project, homepage: 'https://example.org/' })).toBe(placeholder.toLowerCase());
});

test('release notes are the section of the version, without its heading', () => {
  const changelog =
    '# Changelog\n\n## 1.1.0, 2027-01-02\n\n- new\n\n### Fixed\n\n- old\n\n## 1.1.0-rc.1, 2027\n\n- rc\n\n## 1.0.0\n';
  expect(releaseNotes('1.1.0', changelog)).toBe('- new\n\n### Fixed\n\n- old\n');
  expect(releaseNotes('1.1.0-rc.1', changelog)).toBe('- rc\n');
  expect(() => releaseNotes('1.2.0', changelog)).toThrow('1.2.0');
});

test('this version has release notes', () => {
  expect(releaseNotes(project.version)).toMatch(/^\S/);
});

test.each([
  ['a folder that is there', ['--output', tmpdir()], 'is there already'],
  ['a processor that is none', ['--processor', 'x86'], 'x86'],
  ['an option that is none', ['--wet'], '--wet'],
])('release.ts refuses %s, and nothing is lost', (_, args, message) => {
  const script = join(root, 'scripts/release/release.ts');
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, '--dry', ...args], { encoding: 'utf8' });
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toMatch(/^release: /);
  expect(stderr).toContain(message);
  expect(existsSync(tmpdir())).toBe(true);
});

test('a release of another version than that of package.json is refused, and nothing is made', () => {
  const script = join(root, 'scripts/release/release.ts');
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, '--tag', 'v9.9.9'], { encoding: 'utf8' });
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toContain('refused, nothing was made');
});

test('the npm package needs no other package and runs no script', () => {
  expect(Object.keys(manifestOf(project))).toEqual(
    'name version description license keywords homepage bugs repository bin engines publishConfig'.split(' '),
  );
});

test('a Node.js that is too old gets one sentence with the required version, and not a syntax error', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kube-netfilter-tailer-old-node-'));
  try {
    const pretend = join(folder, 'pretend.cjs');
    writeFileSync(
      pretend,
      `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } });`,
    );
    const program = join(root, project.bin['kube-netfilter-tailer'] ?? '');
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--require', pretend, program, 'version'], {
      encoding: 'utf8',
    });
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(
      /^kube-netfilter-tailer needs Node\.js 24\.12 or newer; this is 20\.20\.2 \(.+\)\.\n.+npx .+\n$/,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the file that an old Node.js reads first has no newer syntax', () => {
  const source = readFileSync(join(root, 'bin/kube-netfilter-tailer.cjs'), 'utf8');
  const modern = /=>|`|\b(?:const|let|class|async)\b|\?\.|\?\?|\.\.\./.exec(source.replaceAll(/^\s*\/\/.*$/gm, ''));
  expect(modern?.[0]).toBeUndefined();
  expect(() => transformSync(source, { target: 'es5' })).not.toThrow();
});
