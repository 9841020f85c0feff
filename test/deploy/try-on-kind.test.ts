import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { root } from './manifests.ts';

const run = promisify(execFile);
const script = join(root, 'deploy/try-on-kind.sh');

test('its help names its needs and its changes to the machine', async () => {
  const { stdout } = await run(script, ['--help']);
  for (const text of ['docker, kind, kubectl', 'nf_log_all_netns', '--delete', 'CALICO_MANIFEST'])
    expect(stdout).toContain(text);
});

test.each([
  [['--nonsense'], '--nonsense is not an option: see --help'],
  [['--delete', 'x'], 'x is one argument too many: see --help'],
])('%j is refused with status 2', async (args, message) => {
  await expect(run(script, args)).rejects.toMatchObject({ code: 2, stderr: `try-on-kind.sh: ${message}\n` });
});

test('a missing program is named before anything is changed', async () => {
  await expect(run('/bin/bash', [script], { env: { PATH: '/usr/bin:/bin' } })).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^try-on-kind\.sh: (?:docker|kind|kubectl) is missing: see --help\n$/),
  });
});
