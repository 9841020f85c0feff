import { expect, test } from 'vitest';
import { temporaryFolder } from '../read/sources/temporary-folder.ts';
import { subjectsIn } from './program.ts';
import { replay } from './replaying.ts';
import { cluster, drop, line, stamped } from './scene.ts';

const path = temporaryFolder();

test('each stage prints its result', async () => {
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

test('a forged ICMP error regards its sender, not the addresses in it', async () => {
  const error = `calico-drop: IN=calid1173a6842b OUT=eth0 SRC=10.244.1.41 DST=198.51.100.40 LEN=576 TOS=0x00 PREC=0xC0 TTL=63 ID=1 PROTO=ICMP TYPE=3 CODE=4 [SRC=10.244.1.30 DST=10.244.0.10 LEN=1450 TOS=0x00 PREC=0x00 TTL=63 ID=2 DF PROTO=TCP SPT=47238 DPT=443 WINDOW=64 RES=0x00 ACK URGP=0 ] MTU=68 `;
  const { out } = await replay(['--pods', cluster, '--explain', line('Nov 21 10:15:04', error)]);
  expect(out).toMatch(/^inner ends +not believed/m);
  expect(out.match(/^Event .*$/gm)).toStrictEqual([
    expect.stringMatching(/PacketDrop on Pod batch\/worker-84f9d6c5bb-fzv5m: .*198\.51\.100\.40/),
  ]);
});

test('without saved objects, nothing is printed about the cluster', async () => {
  const { status, out } = await replay(['--explain', stamped]);
  expect(status).toBe(0);
  expect(out).toMatch(/^source +10\.244\.0\.41 \(--pods says whose address it is\)$/m);
  expect(out).toMatch(/^Event +none without --pods/m);
  expect(out).not.toMatch(/cluster|neither/);
});

test('several lines: explains each', async () => {
  const { out } = await replay([
    '--pods',
    cluster,
    '--explain',
    stamped + line('Nov 21 10:15:05', drop.replace('calico-drop', 'calico-packet')),
  ]);
  expect(out.match(/^time +2026-11-21T10:15:0[45].000Z$/gm)).toHaveLength(2);
  expect(out).toMatch(/^Event +none: /m);
});

test('a line of a file with CRLF is explained', async () => {
  const whole = stamped.trimEnd();
  expect(await replay(['--pods', cluster, '--explain', `${whole}\r\n`])).toStrictEqual(
    await replay(['--pods', cluster, '--explain', whole]),
  );
});

test('text that is not ASCII is shown as it was written', async () => {
  const record = 'E1121 10:15:04.000000       1 proxier.go:1500] "Failed ‘so’" err="exit ‘KUBE-SVC’"';
  const { out } = await replay(['--explain', record]);
  expect(out).toMatch(/^message .*‘so’.*‘KUBE-SVC’/m);
  expect(out).toMatch(/^says +Failed ‘so’$/m);
  expect(out).toMatch(/^error +exit ‘KUBE-SVC’$/m);
});

test('a line of no known format is explained', async () => {
  const { status, out } = await replay(['--explain', 'Nov 21 10:15:04 node-b sshd[7]: hello']);
  expect(status).toBe(0);
  expect(out).toMatch(/^format +none/m);
});

test('a line forged by another program is refused', async () => {
  const { out } = await replay(['--explain', `Nov 21 10:15:04 node-b evil[7]: ${drop}`]);
  expect(out).toMatch(/^written by +evil$/m);
  expect(out).toMatch(/^format +refused/m);
});

test('saved objects that cannot be read are reported', async () => {
  const { status, out, err } = await replay(['--pods', path('no.json'), '--explain', stamped]);
  expect([status, out]).toStrictEqual([2, '']);
  expect(subjectsIn(err)).toContain(`--pods ${path('no.json')}`);
});

test.each(['', '2026-11-21T15:23:57.943Z stdout F '])(
  'a record of felix with its own stamp is explained: %j',
  async (before) => {
    const text =
      '2026-11-21 15:23:57.942 [WARNING][56] felix/table.go 654: Detected out-of-sync inserts, marking for resync chainName="OUTPUT" ipVersion=0x4 table="raw"';
    const { out } = await replay(['--explain', `${before}${text}`]);
    expect(out).toMatch(/^sign +KN204: /m);
  },
);
