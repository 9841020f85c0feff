import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { run } from '../network/command.ts';
import { PORT, startProbedPod } from './probed-pod.ts';

test('two at once answer at the same port, and leave nothing', async () => {
  const pods = await Promise.all([startProbedPod(), startProbedPod()]);
  try {
    const answers = pods.map(async ({ address }) => (await fetch(`http://${address}:${PORT}/readyz`)).text());
    await expect(Promise.all(answers)).resolves.toEqual(['ok\n', 'ok\n']);
    expect(new Set(pods.map(({ address }) => address)).size).toBe(2);
    for (const { device } of pods) expect(await devices()).toContain(device);
  } finally {
    await Promise.all(pods.map(({ destroy }) => destroy()));
  }
  for (const { device } of pods) expect(await devices()).not.toContain(device);
});

test('nothing is left by a process that is killed', async () => {
  const script = `
    import { startProbedPod } from ${JSON.stringify(join(import.meta.dirname, 'probed-pod.ts'))};
    console.log((await startProbedPod()).device);`;
  const owner = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [device] = (await once(createInterface({ input: owner.stdout }), 'line')) as [string];
  const before = await devices();
  owner.kill('SIGKILL');
  expect(before).toContain(device);
  await expect.poll(devices, { timeout: 60_000 }).not.toContain(device);
});

async function devices(): Promise<readonly string[]> {
  const { stdout } = await run('ip', ['-json', 'link', 'show']);
  return (JSON.parse(stdout) as { ifname: string }[]).map(({ ifname }) => ifname);
}
