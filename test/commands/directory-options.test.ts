import { expect, test } from 'vitest';
import { directoryHelp, readDirectoryOptions } from '../../src/commands/options/directory-options.ts';
import { UsageError } from '../../src/commands/options/usage-error.ts';

const pod = { POD_NAME: 'directory-0', POD_NAMESPACE: 'drops', POD_IP: '10.65.1.9' };
const defaults = {
  listen: { host: undefined, port: 8443 },
  metricsAddress: ':9090',
  account: 'kube-netfilter-tailer',
  configMap: 'kube-netfilter-tailer-directory',
  kubeconfig: undefined,
  logLevel: 'info',
  podName: 'directory-0',
  podNamespace: 'drops',
  podAddress: '10.65.1.9',
};

test('with what the Pod has alone, all the rest has a default', () => {
  expect(readDirectoryOptions([], pod)).toEqual(defaults);
});

test('an option goes over a variable', () => {
  const env = { ...pod, LISTEN_ADDRESS: ':1', AGENT_ACCOUNT: 'other', LOG_LEVEL: 'WARN', POD_IP: 'fd00::9' };
  expect(readDirectoryOptions(['--listen', '127.0.0.1:2', '--config-map=mine'], env)).toEqual({
    ...defaults,
    listen: { host: '127.0.0.1', port: 2 },
    account: 'other',
    configMap: 'mine',
    logLevel: 'warn',
    podAddress: 'fd00::9',
  });
});

const read = (): unknown =>
  readDirectoryOptions(['--listen', '8443', '--account=a/b', '--log-level', 'loud', '--lisen=x'], { POD_IP: 'x' });

test('all that is wrong is reported at once', () => {
  expect(read).toThrow(UsageError);
  for (const part of ['--listen "8443"', '--account "a/b"', '--log-level "loud"', '--lisen', 'POD_NAME', 'POD_IP "x"'])
    expect(read).toThrow(part);
});

test('the help names every option and variable', () => {
  expect(readDirectoryOptions(['--help'], {})).toBe('help');
  for (const name of [
    '--listen',
    '--metrics-address',
    '--account',
    '--config-map',
    '--log-level',
    '--kubeconfig',
    'POD_IP',
  ])
    expect(directoryHelp).toContain(name);
});
