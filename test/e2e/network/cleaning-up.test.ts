import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { run } from './command.ts';
import { createNetwork, type NetworkOptions } from './network.ts';
import { LOG_ALL_NAMESPACES } from './tools.ts';

const options: NetworkOptions = {
  backend: 'iptables-nft',
  pods: [{ namespace: 'shop', name: 'web-0', addresses: ['10.244.1.10'] }],
};

let switchBefore: string;
beforeEach(async () => {
  switchBefore = await readSwitch();
});

test('logging in all namespaces ends with the last network', async () => {
  const [first, second] = await Promise.all([createNetwork(options), createNetwork(options)]);
  await first.destroy();
  expect(await readSwitch()).toBe('1');
  await second.destroy();
  expect(await readSwitch()).toBe(switchBefore);
  expect(await namespacesOf(process.pid)).toEqual([]);
});

test('a network that cannot be made leaves nothing', async () => {
  const twice = { ...options, pods: [...options.pods, ...options.pods] };
  await expect(createNetwork(twice)).rejects.toThrow('File exists');
  expect(await readSwitch()).toBe(switchBefore);
  expect(await namespacesOf(process.pid)).toEqual([]);
});

test('the next network removes what a killed process left', async () => {
  const killed = await createAndDie();
  expect(await namespacesOf(killed)).not.toEqual([]);
  expect(await readSwitch()).toBe('1');

  const next = await createNetwork(options);
  try {
    expect(await namespacesOf(killed)).toEqual([]);
    expect(await readSwitch()).toBe('1');
  } finally {
    await next.destroy();
  }
  expect(await readSwitch()).toBe(switchBefore);
});

/** A process that makes a network and is killed before it can destroy it; its id. */
async function createAndDie(): Promise<number> {
  const script = `
    import { createNetwork } from ${JSON.stringify(join(import.meta.dirname, 'network.ts'))};
    await createNetwork(${JSON.stringify(options)});
    process.kill(process.pid, 'SIGKILL');`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: 'inherit' });
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
  return child.pid ?? 0;
}

async function namespacesOf(pid: number): Promise<readonly string[]> {
  const { stdout } = await run('ip', ['netns', 'list']);
  return stdout.split('\n').filter((line) => line.startsWith(`kube-netfilter-tailer-${pid}-`));
}

async function readSwitch(): Promise<string> {
  return (await readFile(LOG_ALL_NAMESPACES, 'utf8')).trim();
}
