import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { NetworkOptions } from './network.ts';
import { openOwnView, type OwnView } from './own-view.ts';

const options: NetworkOptions = {
  backend: 'iptables-nft',
  pods: [{ namespace: 'shop', name: 'web-0', addresses: ['10.244.1.10'] }],
};
const twice: NetworkOptions = { ...options, pods: [...options.pods, ...options.pods] };

// Networks of other runs come and go: what is left of these is to be seen only where they are alone.
let view: OwnView;
beforeEach(async () => {
  view = await openOwnView();
});
afterEach(() => view.close());

test('logging in all namespaces ends with the last network', async () => {
  const { stdout, stderr } = await view.run(`${beginning}
    const [first, second] = await Promise.all([createNetwork(options), createNetwork(options)]);
    await first.destroy();
    console.log(readFileSync(LOG_ALL_NAMESPACES, 'utf8').trim());
    await second.destroy();`);
  expect({ stdout, stderr }).toEqual({ stdout: '1\n', stderr: '' });
  expect(view.readSwitch()).toBe('0');
  expect(view.namespaces()).toEqual([]);
});

test('a network that cannot be made leaves nothing', async () => {
  const { code, stderr } = await view.run(`${beginning} await createNetwork(${JSON.stringify(twice)});`);
  expect(code).toBe(1);
  expect(stderr).toContain('File exists');
  expect(view.readSwitch()).toBe('0');
  expect(view.namespaces()).toEqual([]);
});

test('the next network removes what a killed process left', async () => {
  const killed = await view.run(`${beginning} await createNetwork(options); process.kill(process.pid, 'SIGKILL');`);
  expect(killed.stderr).toBe('');
  expect(view.namespaces()).toContainEqual(expect.stringContaining(`-${killed.pid}-`));
  expect(view.readSwitch()).toBe('1');

  const next = await view.run(`${beginning}
    const next = await createNetwork(options);
    console.log(readFileSync(LOG_ALL_NAMESPACES, 'utf8').trim());
    console.log(readdirSync('/run/netns').join('\\n'));
    await next.destroy();`);
  expect(next.stdout).toMatch(/^1\n\S/);
  expect(next.stdout).toContain(`-${next.pid}-`);
  expect(next.stdout).not.toContain(`-${killed.pid}-`);
  expect(view.readSwitch()).toBe('0');
  expect(view.namespaces()).toEqual([]);
});

const beginning = `
  import { readdirSync, readFileSync } from 'node:fs';
  import { createNetwork } from ${JSON.stringify(join(import.meta.dirname, 'network.ts'))};
  import { LOG_ALL_NAMESPACES } from ${JSON.stringify(join(import.meta.dirname, 'kernel-access.ts'))};
  const options = ${JSON.stringify(options)};
`;
