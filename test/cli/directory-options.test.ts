import { expect, test } from 'vitest';
import { readDirectoryOptions } from '../../src/cli/options/directory-options.ts';
import { UsageError } from '../../src/cli/options/command.ts';
import { parsed } from './parsed.ts';

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

test("with only the Pod's own variables, all other settings have defaults", () => {
  expect(readDirectoryOptions(parsed('directory'), pod)).toEqual(defaults);
});

test('an option overrides a variable', () => {
  const env = { ...pod, LISTEN_ADDRESS: ':1', AGENT_ACCOUNT: 'other', LOG_LEVEL: 'WARN', POD_IP: 'fd00::9' };
  expect(readDirectoryOptions(parsed('directory', '--listen', '127.0.0.1:2', '--config-map=mine'), env)).toEqual({
    ...defaults,
    listen: { host: '127.0.0.1', port: 2 },
    account: 'other',
    configMap: 'mine',
    logLevel: 'warn',
    podAddress: 'fd00::9',
  });
});

test.each([
  ['p-kube-netfilter-tailer-directory', 'p-kube-netfilter-tailer'],
  ['kube-netfilter-tailer-directory-s', 'kube-netfilter-tailer-s'],
  ['kube-netfilter-tailer-directory', 'kube-netfilter-tailer'],
  ['my-directory-kube-netfilter-tailer-directory', 'my-directory-kube-netfilter-tailer'],
])('with its own account %s, agents are %s, and the ConfigMap has its own name', (own, account) => {
  const env = { ...pod, DIRECTORY_ACCOUNT: own };
  expect(readDirectoryOptions(parsed('directory'), env)).toEqual({ ...defaults, account, configMap: own });
  expect(readDirectoryOptions(parsed('directory'), { ...env, AGENT_ACCOUNT: 'other' }).account).toBe('other');
});

const read = (): unknown =>
  readDirectoryOptions(parsed('directory', '--listen', '8443', '--account=a/b', '--log-level', 'loud'), {
    POD_IP: 'x',
  });

test('all mistakes are reported at once', () => {
  expect(read).toThrow(UsageError);
  for (const part of ['--listen 8443', '--account a/b', '--log-level loud', 'POD_NAME', 'POD_IP "x"'])
    expect(read).toThrow(part);
});
