import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { relative } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../read/sources/temporary-folder.ts';
import { sample } from './program.ts';
import { replay } from './replaying.ts';
import { cluster, json, line, recordsIn, writerIn } from './scene.ts';

const path = temporaryFolder();
const write = writerIn(path);
const records = readFileSync(sample('kube-proxy-lw8zd-lock.log'), 'utf8');

/** Where the kubelet would keep the log of this container. */
function logOf(pod: string, container: string): string {
  mkdirSync(path(`${pod}_0f/${container}`), { recursive: true });
  return write(`${pod}_0f/${container}/0.log`, records);
}

async function eventsOf(log: string): Promise<number> {
  return recordsIn((await replay([...json, log])).out).length;
}

test('records of kube-proxy in the log of another container are refused, however the log is named', async () => {
  const log = logOf('shop_web-0', 'app');
  const [link, id] = [path('copy.log'), '0a'.repeat(32)];
  symlinkSync(log, link);
  for (const name of [log, relative('.', log), link, write(`web-0_shop_app-${id}.log`, records)]) {
    const { out } = await replay(['--pods', cluster, name]);
    expect(out).toMatch(/^refused +[1-9]/m);
    expect(out).toMatch(/^Events +0$/m);
  }
});

test('records are refused in the log of a container that only has the name, in its own Namespace', async () => {
  expect(await eventsOf(logOf('shop_kube-proxy-1', 'kube-proxy'))).toBe(0);
});

test('records are believed in the log of kube-proxy, and in a log that names no container', async () => {
  expect(await eventsOf(logOf('kube-system_kube-proxy-lw8zd', 'kube-proxy'))).toBeGreaterThan(0);
  expect(await eventsOf(write('kube-proxy-lw8zd.log', records))).toBeGreaterThan(0);
});

test("a kernel line in a container's log is refused, also in a rotated and compressed log", async () => {
  mkdirSync(path('shop_web-1_0f/app'), { recursive: true });
  const log = write('shop_web-1_0f/app/0.log.20261121-101010', line('Nov 21 10:15:04'));
  const { out } = await replay(['--pods', cluster, log]);
  expect(out).toMatch(/^refused +1 /m);
});
