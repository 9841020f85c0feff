import { expect, test } from 'vitest';
import { createProc, findNamespaceOwner, podUidIn } from '../../../../src/base/platform/proc.ts';
import { procTree, readerIn } from './proc-tree.ts';

const tables: { cgroups: [string, string, string | undefined][] } = {
  // The cgroup files of processes, and the uids of their Pods.
  cgroups: [
    [
      'cgroup v2, systemd',
      '0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod8f2e4b5c_1234_4abc_9def_0123456789ab.slice/cri-containerd-cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc.scope\n',
      '8f2e4b5c-1234-4abc-9def-0123456789ab',
    ],
    [
      'guaranteed, systemd',
      '0::/kubepods.slice/kubepods-pod8f2e4b5c_1234_4abc_9def_0123456789ab.slice/crio-cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc.scope\n',
      '8f2e4b5c-1234-4abc-9def-0123456789ab',
    ],
    [
      'cgroup v1, cgroupfs',
      '9:name=systemd:/\n8:pids:/kubepods/besteffort/pod8f2e4b5c-1234-4abc-9def-0123456789ab/cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc\n0::/\n',
      '8f2e4b5c-1234-4abc-9def-0123456789ab',
    ],
    [
      'kind',
      '0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod8f2e4b5c_1234_4abc_9def_0123456789ab.slice\n',
      '8f2e4b5c-1234-4abc-9def-0123456789ab',
    ],
    [
      'seen from a cgroup namespace',
      '0::/../../pod8f2e4b5c-1234-4abc-9def-0123456789ab/cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc\n',
      '8f2e4b5c-1234-4abc-9def-0123456789ab',
    ],
    [
      'a static Pod',
      '0::/kubepods/burstable/pod0123456789abcdef0123456789abcdef/cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc\n',
      '0123456789abcdef0123456789abcdef',
    ],
    [
      'a node in a Pod',
      '0::/kubepods/burstable/pod8f2e4b5c-1234-4abc-9def-0123456789ab/cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc/kubepods/burstable/pod00000000-1234-4abc-9def-0123456789ab/x\n',
      '8f2e4b5c-1234-4abc-9def-0123456789ab',
    ],
    ['no Pod', '0::/system.slice/containerd.service\n', undefined],
    [
      'podman',
      '0::/machine.slice/libpod-cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc.scope\n',
      undefined,
    ],
    ['a longer name', '0::/kubepods/pod8f2e4b5c-1234-4abc-9def-0123456789ab0/x\n', undefined],
    ['nothing', '', undefined],
  ],
};

const uid = '8f2e4b5c-1234-4abc-9def-0123456789ab';
const other = '00000000-1234-4abc-9def-0123456789ab';
const container = 'c'.repeat(64);

test.each(tables.cgroups)('finds the Pod of a cgroup: %s', (_, cgroups, expected) => {
  expect(podUidIn(cgroups)).toBe(expected);
});

const inode = 4026532317;
const inside = `->net:[${inode}]`;
const host = '->net:[4026531833]';
const pod = (id: string): string => `0::/kubepods/burstable/pod${id}/${container}\n`;

test('finds the Pod after skipping processes without a Pod and unreadable ones', async () => {
  const root = procTree({
    '1/ns/net': host,
    '1/cgroup': '0::/init.scope\n',
    '200/cgroup': pod(other),
    '300/ns/net': host,
    '300/cgroup': pod(other),
    '400/ns/net': inside,
    '400/cgroup': pod(uid),
    '401/ns/net': inside,
    '401/cgroup': '0::/system.slice/containerd.service\n',
    '402/ns/net': inside,
    '402/cgroup': pod(uid),
    'net/ns/net': inside,
    'net/cgroup': pod(other),
  });
  expect(await findNamespaceOwner(root, inode)).toEqual({ process: expect.stringMatching(/^40[012]$/), pod: uid });
});

test('if two Pods share a namespace, neither is named', async () => {
  const root = procTree({
    '400/ns/net': inside,
    '400/cgroup': pod(uid),
    '401/ns/net': inside,
    '401/cgroup': pod(other),
  });
  expect((await findNamespaceOwner(root, inode))?.pod).toBeUndefined();
});

test('a namespace without a Pod still has a process to read through', async () => {
  const root = procTree({ '400/ns/net': inside });
  expect(await findNamespaceOwner(root, inode)).toEqual({ process: '400', pod: undefined });
});

test("an invisible namespace and the host's own have no owner", async () => {
  expect(await findNamespaceOwner(procTree({ '400/ns/net': host }), inode)).toBeUndefined();
  expect(
    await findNamespaceOwner(procTree({ '1/ns/net': inside, '7/ns/net': inside, '7/cgroup': pod(uid) }), inode),
  ).toBeUndefined();
  expect(await findNamespaceOwner('/nowhere', inode)).toBeUndefined();
});

test('searches all processes of a busy node', async () => {
  const crowd = Object.fromEntries(Array.from({ length: 203 }, (_, index) => [`${1000 + index}/ns/net`, host]));
  const root = procTree({ ...crowd, '9999/ns/net': inside, '9999/cgroup': pod(uid) });
  expect((await findNamespaceOwner(root, inode))?.pod).toBe(uid);
});

const line = (source: string): string => `ipv4     2 udp      17 29 src=${source} dst=10.0.0.2 sport=1 dport=2\n`;

test("the table of a namespace is read through one of its processes, the host's through init", async () => {
  const root = readerIn(
    procTree({
      'self/ns/net': '->net:[4026532999]',
      '1/ns/net': host,
      '1/net/stat/nf_conntrack': 'entries  found\n00000064  00000000\n',
      '1/net/nf_conntrack': line('10.0.0.1'),
      '400/ns/net': inside,
      '400/cgroup': pod(uid),
      '400/net/stat/nf_conntrack': 'entries  found\n00000003  00000000\n',
      '400/net/nf_conntrack': line('10.244.0.7'),
      'sys/net/netfilter/nf_conntrack_max': '100\n',
      'sys/net/netfilter/nf_conntrack_count': '1\n',
    }),
    'another',
  );
  const proc = createProc(root);
  expect(await proc.conntrack(undefined)).toEqual({ count: 100, max: 100 });
  expect((await proc.topSources(undefined))?.top).toEqual([{ address: '10.0.0.1', connections: 1 }]);
  const [conntrack, topSources, owner] = await Promise.all([
    proc.conntrack(inode),
    proc.topSources(inode),
    proc.podOfNetns(inode),
  ]);
  expect(conntrack).toEqual({ count: 3, max: 100 });
  expect(topSources?.top).toEqual([{ address: '10.244.0.7', connections: 1 }]);
  expect(owner).toBe(uid);
  expect(await proc.conntrack(1)).toEqual({ count: undefined, max: 100 });
  expect(await proc.topSources(1)).toBeUndefined();
});
