import { expect, test } from 'vitest';
import { createReadTotals } from '../../src/cli/replay/log-target.ts';
import { readLog } from '../../src/cli/replay/read-log.ts';

/** Reads 40 MiB of unrelated lines; returns what is shown on a terminal during that time. */
async function progressOf(quiet: boolean): Promise<string> {
  let sent = '';
  const terminal = { write: (text: string) => (sent += text) } as unknown as NodeJS.WriteStream;
  const block = Buffer.alloc(8 * 1024 * 1024, `${'x'.repeat(1023)}\n`);
  await readLog(
    {
      name: 'kern\u001b.log',
      modified: undefined,
      read: async (onBlock) => {
        for (let count = 0; count < 5; count++) onBlock(block);
      },
    },
    { latest: 0 },
    {
      pipeline: { take: () => {}, repeats: undefined },
      totals: createReadTotals(),
      streams: { err: () => {}, terminal },
      options: { quiet, node: undefined },
      problem: () => {},
    },
  );
  return sent.replaceAll('\u001b[K', '<clear>');
}

test('a terminal shows the progress in a large log, and clears it at the end', async () => {
  const name = String.raw`kern\x1b.log`;
  expect(await progressOf(false)).toBe(`\r${name}: 16 MiB read<clear>\r${name}: 32 MiB read<clear>\r<clear>`);
  expect(await progressOf(true)).toBe('');
});
