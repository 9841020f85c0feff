import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { load } from 'js-yaml';
import { beforeAll, describe, expect, test } from 'vitest';
import { root } from '../../deploy/manifests.ts';
import { ensurePrograms } from '../control-plane/build.ts';

/** The workflows, as far as they can be checked without a GitHub runner. */

const start = promisify(execFile);
const folder = join(root, '.github/workflows');
const files = readdirSync(folder);
let actionlint: string;

interface Job {
  permissions?: Record<string, string>;
  uses?: string;
  steps?: { uses?: string; run?: string }[];
}

beforeAll(async () => {
  ({ actionlint } = await ensurePrograms(['actionlint']));
}, 600_000);

test('actionlint reports nothing', async () => {
  const { stdout } = await start(actionlint, ['-pyflakes=', ...files.map((name) => join(folder, name))], { cwd: root });
  expect(stdout).toBe('');
});

test('actionlint finds a mistake', async () => {
  const broken = readFileSync(join(folder, 'release.yml'), 'utf8').replace('github.actor', 'github.aktor');
  const linting = start(actionlint, ['-pyflakes=', '-']);
  linting.child.stdin?.end(broken);
  await expect(linting).rejects.toMatchObject({ stdout: expect.stringContaining('aktor') });
});

describe.each(files)('%s', (name) => {
  const text = readFileSync(join(folder, name), 'utf8');
  const { permissions, jobs } = load(text) as { permissions: object; jobs: Record<string, Job> };

  test('each action is named by its commit, followed by the version', () => {
    const uses = [...text.matchAll(/^\s*(?:- )?uses: (.+)$/gm)].map(([, used = '']) => used);
    for (const used of uses)
      expect(used).toMatch(/^(?:\.\/\.github\/workflows\/[\w-]+\.yml|[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$/);
  });

  test('programs that build images and list their contents are named by version and digest', () => {
    const builders = [...text.matchAll(/docker buildx create .+/g)].map(([command]) => command);
    for (const command of builders) expect(command).toMatch(/image=moby\/buildkit:v\d+\.\d+\.\d+@sha256:[0-9a-f]{64}$/);
    const scanners = [...text.matchAll(/--sbom\b.*|generator=\S+/g)].map(([option]) => option);
    for (const option of scanners)
      expect(option).toMatch(/^generator=docker\/buildkit-syft-scanner:\d+\.\d+\.\d+@sha256:[0-9a-f]{64}$/);
  });

  test('a job has only the rights that it names', () => {
    expect(permissions).toEqual({});
    for (const job of Object.values(jobs)) expect(Object.keys(job.permissions ?? {})).toContain('contents');
  });

  test('no text from outside is inserted into a script', () => {
    const scripts = Object.values(jobs).flatMap(({ steps = [] }) => steps.flatMap(({ run = '' }) => run));
    expect(scripts.filter((script) => script.includes('${{'))).toEqual([]);
  });
});
