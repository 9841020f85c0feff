import { mkdirSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { checkContainerSource } from '../../../src/commands/doctor/checks/container-source.ts';
import { checkKernelSource, type KernelSetting, locate } from '../../../src/commands/doctor/checks/kernel-source.ts';
import { checkLogBackend, checkLogNamespaces } from '../../../src/commands/doctor/checks/kernel-switches.ts';
import { checkProcRoot } from '../../../src/commands/doctor/checks/proc-root.ts';
import { lookAtContainers } from '../../../src/commands/doctor/container-look.ts';
import { defaultRules } from '../../../src/sources/kubelet/rules.ts';
import { nine, pod } from '../../builders.ts';
import { temporaryFolder } from '../../sources/temporary-folder.ts';
import { fakeSystem } from './fake.ts';
import { beginning } from '../../subject.ts';

const within = temporaryFolder();

describe('a source of the kernel', () => {
  const options = { choose: fakeSystem().choose, findJournal: fakeSystem().findJournal };
  const log = { lines: 3, from: nine - 9000, last: nine - 1000, packets: [] };
  const status = (setting: KernelSetting, given: object, look: Parameters<typeof checkKernelSource>[1]): string => {
    const check = checkKernelSource(locate(setting, { ...options, ...given }), look, nine);
    return `${check.name} ${check.status}: ${check.finding}`;
  };
  const lately = 'last line 1s ago, last drop none (of 3 lines of the kernel since 9s ago)';
  const ring = {
    source: { kind: 'ring', path: '/dev/kmsg' },
    text: 'the ring buffer',
  } as const;

  test.each<[KernelSetting, object, Parameters<typeof checkKernelSource>[1], string]>([
    [{ kind: 'file', path: '/a' }, {}, log, `source file:/a ok: /a: ${lately}`],
    [{ kind: 'kernel' }, {}, log, `source kernel ok: /dev/kmsg: ${lately}`],
    [
      { kind: 'file', path: '/a' },
      {},
      { reason: 'no such file' },
      'source file:/a problem: /a: cannot be read: no such file',
    ],
    [{ kind: 'file', path: '/a' }, {}, { ...log, lines: 0 }, 'source file:/a warning: /a: …'],
    [
      { kind: 'file', path: '/a' },
      {},
      { ...log, last: nine + 7_200_000 },
      'source file:/a warning: /a: last line 120m in the future, last drop none (of 3 lines of the kernel since 9s ago)',
    ],
    [{ kind: 'auto' }, {}, undefined, 'source auto problem: …'],
    [
      { kind: 'auto' },
      { choose: () => ({ ...ring, isCertain: true }) },
      log,
      `source auto ok: ${ring.text}: ${lately}`,
    ],
    [
      { kind: 'auto' },
      { choose: () => ({ ...ring, isCertain: false }) },
      log,
      `source auto warning: ${ring.text}: ${lately}`,
    ],
    [{ kind: 'journal', directory: undefined }, {}, undefined, 'source journal problem: …'],
    [
      { kind: 'journal', directory: '/j' },
      { findJournal: () => ({ directory: '/j' }) },
      { ...log, packets: [{ prefix: '', verdict: 'dropped', rule: '', time: nine - 2000 }] },
      'source journal:/j ok: /j: last line 1s ago, last drop 2s ago (of 3 lines of the kernel since 9s ago)',
    ],
  ])('%j', (setting, given, look, expected) => {
    expect(status(setting, given, look)).toEqual(beginning(expected));
  });
});

const root = (): string => within('pods');

describe('logs of containers', () => {
  const proxy = pod({ namespace: 'kube-system', name: 'kube-proxy-x7k2p', hostNetwork: true });
  const check = (pods?: (typeof proxy)[], rules = defaultRules): string => {
    const { status, finding } = checkContainerSource({
      root: '/pods',
      look: lookAtContainers(root(), rules),
      pods,
      now: Date.now,
    });
    return `${status}: ${finding}`;
  };

  test('no folder', () => {
    expect(
      checkContainerSource({
        root: '/pods',
        look: lookAtContainers(within('no-pods'), defaultRules),
        pods: [],
        now: Date.now,
      }),
    ).toMatchObject({
      status: 'problem',
      finding: 'there is no /pods',
    });
  });

  test('neither a log nor a Pod of the programs is there', () => {
    mkdirSync(root());
    expect(check([])).toMatch(/^ok: \/pods /);
  });

  test('a Pod without a log', () => {
    expect(check([proxy])).toMatch(/^warning: .* kube-proxy .* \/pods,/);
  });

  test('the latest log of each', () => {
    const folder = within('pods/kube-system_kube-proxy-x7k2p_uid/kube-proxy');
    mkdirSync(folder, { recursive: true });
    writeFileSync(`${folder}/0.log`, '');
    writeFileSync(`${folder}/1.log`, '');
    expect(check([proxy])).toMatch(/^ok: kube-system\/kube-proxy-x7k2p \(last line \d+s ago\)$/);
  });

  test('a log that may not be read', () => {
    const look = { kind: 'logs', logs: [{ path: '/pods/x', state: { reason: 'permission denied' } }] } as never;
    expect(checkContainerSource({ root: '/pods', look, pods: [], now: Date.now })).toMatchObject({
      status: 'problem',
      finding: '/pods/x: permission denied',
    });
  });
});

describe("the host's /proc", () => {
  test('is no check where it is not set', () => {
    expect(checkProcRoot('/proc', () => expect.unreachable())).toEqual([]);
  });

  test.each([
    ['all of it', '/host/proc/sys/kernel/osrelease', 'ok', '/host/proc is there'],
    ['what conntrack-details mounts', '/host/proc/sys/net/netfilter/nf_conntrack_max', 'ok', '/host/proc is there'],
    ['nothing', '', 'warning', '/host/proc is no /proc'],
  ] as const)('%s', (_, there, status, finding) => {
    const read = (path: string): string | undefined => (path === there ? '1' : undefined);
    expect(checkProcRoot('/host/proc', read)).toMatchObject([
      { name: 'proc-root', status, finding: expect.stringContaining(finding) as string },
    ]);
  });
});

describe('switches of the kernel', () => {
  test.each([
    ['nf_log_ipv4', 'ok', 'nf_log_ipv4'],
    ['nf_log_syslog', 'ok', 'nf_log_syslog'],
    ['NONE', 'warning', 'NONE'],
    ['nfnetlink_log', 'warning', 'nfnetlink_log'],
    [undefined, 'unknown', '/proc/sys/net/netfilter/nf_log/2'],
  ] as const)('backend %s', (logger, status, subject) => {
    expect(checkLogBackend(() => logger, 'initial')[0]).toMatchObject({
      name: 'nf-log IPv4',
      status,
      finding: expect.stringContaining(subject) as string,
    });
  });

  test('the files of both families', () => {
    const asked: string[] = [];
    checkLogBackend((path) => {
      asked.push(path);
      return undefined;
    }, 'node');
    expect(asked).toEqual(['/proc/sys/net/netfilter/nf_log/2', '/proc/sys/net/netfilter/nf_log/10']);
  });

  test('of the backends, a Pod sees nothing, in one line', () => {
    expect(checkLogBackend(() => 'nf_log_ipv4', 'pod')).toMatchObject([
      {
        name: 'nf-log',
        status: 'unknown',
      },
    ]);
  });

  test.each([
    ['initial', '0', undefined, 'ok'],
    ['initial', '1', undefined, 'ok'],
    ['node', undefined, undefined, 'warning'],
    ['pod', undefined, 'kind://docker/kind/kind-worker', 'warning'],
    ['pod', undefined, 'k3s://k3d-a-agent-0', 'warning'],
    ['pod', undefined, 'k3s://node-a', 'unknown'],
    ['pod', undefined, 'aws:///eu-central-1a/i-0123456789abcdef0', 'ok'],
    ['pod', undefined, undefined, 'unknown'],
  ] as const)('logging of other namespaces: seen as %s, %s, provider %s', (view, value, providerId, status) => {
    expect(checkLogNamespaces({ readFile: () => value, view, providerId })).toMatchObject({
      name: 'nf-log-all-netns',
      status,
    });
  });
});
