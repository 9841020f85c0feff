import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { loggingPages, readShipped } from './files.ts';

const run = promisify(execFile);

describe.each(['iptables-logdrop.sh', 'nftables-logdrop.sh'])('%s', (name) => {
  const path = join(import.meta.dirname, '../../deploy/logging', name);

  test('can be read by a POSIX shell', async () => {
    await run('sh', ['-n', path]);
  });

  test('lists all its options in its help', async () => {
    const { stdout } = await run(path, ['--help']);
    // Patterns of `case`, such as `--chain | --invalid)`.
    const patterns = [...readShipped(name).matchAll(/^ {4}(--[a-z |-]*)\)/gm)].map(([, pattern = '']) => pattern);
    const options = new Set(
      patterns.flatMap((pattern) => pattern.split(' | ')).filter((option) => option !== '--help'),
    );
    expect(options.size).toBeGreaterThanOrEqual(8);
    for (const option of options) expect(stdout).toContain(`  ${option} `);
  });

  test('accepts the options that the pages on logging name', async () => {
    const calls = [
      ...loggingPages()
        .join('\n')
        .matchAll(new RegExp(`\\./${name.replace('.', '\\.')}([^\\n\`>]*)`, 'g')),
    ];
    expect(calls.length).toBeGreaterThanOrEqual(2);
    const { stdout } = await run(path, ['--help']);
    for (const [, args = ''] of calls)
      for (const [option] of args.matchAll(/--[a-z-]+/g)) expect(stdout).toContain(`  ${option} `);
  });

  test('refuses an unknown option with status 2', async () => {
    await expect(run(path, ['--nonsense'])).rejects.toMatchObject({
      code: 2,
      stderr: `${name}: --nonsense is not an option: see --help\n`,
    });
  });
});

test.each([
  ['iptables-logdrop.sh', 'no-such-iptables-restore is not there: name the command in IPTABLES and IP6TABLES'],
  ['nftables-logdrop.sh', 'nft is not there: install nftables'],
])('%s is named if it is missing on the node', async (name, message) => {
  const path = join(import.meta.dirname, '../../deploy/logging', name);
  const env = { PATH: '/nonexistent', IPTABLES: 'no-such-iptables', IP6TABLES: 'no-such-ip6tables' };
  await expect(run(path, ['--chain', 'MINE'], { env })).rejects.toMatchObject({
    code: 2,
    stderr: `${name}: ${message}\n`,
  });
});
