import { writeFileSync } from 'node:fs';
import { afterEach, expect, test, vi } from 'vitest';
import { readKubeconfig } from '../../src/kubernetes/kubeconfig.ts';
import { temporaryFolder } from '../sources/temporary-folder.ts';

const within = temporaryFolder();
afterEach(() => void vi.useRealTimers());

function write(token: string): void {
  const config = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
    clusters: [{ name: 'k', cluster: { server: `https://${token}.example.org` } }],
    users: [{ name: 'u', user: { token } }],
  };
  writeFileSync(within('config'), JSON.stringify(config));
}

test('a kubeconfig is read again when the server refuses it, every five seconds at most', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  write('old');
  const access = readKubeconfig(within('config'));
  write('new');
  access.reload?.();
  expect(access.server).toBe('https://old.example.org');
  vi.advanceTimersByTime(5000);
  expect(await access.authenticate()).toMatchObject({ headers: { Authorization: 'Bearer old' } });
  access.reload?.();
  expect(access.server).toBe('https://new.example.org');
  expect(await access.authenticate()).toMatchObject({ headers: { Authorization: 'Bearer new' } });
});

test('a kubeconfig that is being replaced is not taken', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  write('old');
  const access = readKubeconfig(within('config'));
  writeFileSync(within('config'), '{');
  vi.advanceTimersByTime(5000);
  access.reload?.();
  expect(access.server).toBe('https://old.example.org');
});
