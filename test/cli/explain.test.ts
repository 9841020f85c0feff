import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../sources/temporary-folder.ts';
import { replay } from './program.ts';
import { cluster, drop, line, stamped } from './scene.ts';

const path = temporaryFolder();

describe.concurrent('--explain', () => {
  test('each stage says what it found', async () => {
    const { status, out, err } = await replay(['--pods', cluster, '--explain', stamped]);
    expect([status, err]).toStrictEqual([0, '']);
    for (const row of [
      /^envelope +syslog stamp, kernel tag$/m,
      /^time +2026-11-21T10:15:04.000Z$/m,
      /^host +node-b$/m,
      /^verdict +dropped/m,
      /^destination +10.244.1.30 is Pod shop\/postgres-0/m,
      /^Event +PacketDrop on Pod shop\/postgres-0/m,
    ]) {
      expect(out).toMatch(row);
    }
  });

  test('several lines: each is explained', async () => {
    const { out } = await replay([
      '--pods',
      cluster,
      '--explain',
      stamped + line('Nov 21 10:15:05', drop.replace('calico-drop', 'calico-packet')),
    ]);
    expect(out.match(/^time +2026-11-21T10:15:0[45].000Z$/gm)).toHaveLength(2);
    expect(out).toMatch(/^Event +none: the packet was logged/m);
  });

  test('a line of a file with CRLF', async () => {
    const whole = stamped.trimEnd();
    expect(await replay(['--pods', cluster, '--explain', `${whole}\r\n`])).toStrictEqual(
      await replay(['--pods', cluster, '--explain', whole]),
    );
  });

  test('a line of no known format', async () => {
    const { status, out } = await replay(['--explain', 'Nov 21 10:15:04 node-b sshd[7]: hello']);
    expect(status).toBe(0);
    expect(out).toMatch(/^format +none of the known ones/m);
  });

  test('a line that another program has forged', async () => {
    const { out } = await replay(['--explain', `Nov 21 10:15:04 node-b evil[7]: ${drop}`]);
    expect(out).toMatch(/^written by +evil$/m);
    expect(out).toMatch(/^format +refused/m);
  });

  test('saved objects that cannot be read', async () => {
    const { status, out, err } = await replay(['--pods', path('no.json'), '--explain', stamped]);
    expect([status, err]).toStrictEqual([1, `${path('no.json')}: no such file\n`]);
    expect(out).toMatch(/^verdict +dropped/m);
  });
});

test.each(['', '2026-11-21T15:23:57.943Z stdout F '])(
  'a record of felix, which has a stamp of its own: %j',
  async (before) => {
    const text =
      '2026-11-21 15:23:57.942 [WARNING][56] felix/table.go 654: Detected out-of-sync inserts, marking for resync chainName="OUTPUT" ipVersion=0x4 table="raw"';
    const { out } = await replay(['--explain', `${before}${text}`]);
    expect(out).toMatch(/^sign +KN204: /m);
  },
);
