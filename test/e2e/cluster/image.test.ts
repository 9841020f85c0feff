/** Tests the contents of the Dockerfile's images. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run } from '../network/command.ts';
import { AGENT_IMAGE } from './global-setup.ts';
import { buildAgentImage, withFiles } from './images.ts';

const root = join(import.meta.dirname, '../../..');

test.each(Object.entries(AGENT_IMAGE))('%s has no shell and no package manager', async (_, reference) => {
  await withFiles(reference, (folder) => {
    const programs = ['bin', 'usr/bin', 'usr/local/bin'].flatMap((each) => listed(join(folder, each)));
    expect(programs).toEqual(expect.arrayContaining(['node', 'kube-netfilter-tailer']));
    expect(programs.filter((name) => /^(?:(?:ba|da)?sh|dpkg|apt|busybox|npm)$/.test(name))).toEqual([]);
    return Promise.resolve();
  });
});

test.each(Object.entries(AGENT_IMAGE))('%s has a bill of its contents', async (_, reference) => {
  await withFiles(reference, async (folder) => {
    const { stdout } = await run(process.execPath, [join(root, 'scripts/image-bill.mjs'), folder]);
    expect(stdout).toMatch(/^\d+ packages of npm, \d+ of Debian, the bundle and node [\d.]+\n$/);
  });
});

test('the files of Debian packages have the requested architecture', async () => {
  const other = process.arch === 'x64' ? 'arm64' : 'amd64';
  const reference = 'localhost/kube-netfilter-tailer:other-architecture';
  await buildAgentImage('journal-root', reference, root, ['--build-arg', `TARGETARCH=${other}`]);
  await withFiles(reference, async (folder) => {
    // e_machine of ELF: 183 is AArch64, 62 is x86-64.
    const { stdout } = await run('od', ['-An', '-tu2', '-j', '18', '-N', '2', join(folder, 'target/bin/journalctl')]);
    expect(Number(stdout)).toBe(other === 'arm64' ? 183 : 62);
  });
});

function listed(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
