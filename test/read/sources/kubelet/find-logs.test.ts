import fc from 'fast-check';
import { expect, test } from 'vitest';
import { containerOfPath, podOfFolder } from '../../../../src/base/log-formats/container-log.ts';
import {
  type ContainerRule,
  createLogFinder,
  defaultRules,
  parseContainerRule,
} from '../../../../src/read/sources/kubelet/find-logs.ts';
import {
  createFolderNames,
  type FolderNames,
  type ListFolder,
} from '../../../../src/read/sources/kubelet/folder-names.ts';
import { forAll } from '../../../for-all.ts';

const tables: {
  byDefault: [string, string, string, boolean][];
  paths: [string, object | undefined][];
} = {
  // Logs of containers.
  byDefault: [
    ['kube-system', 'kube-proxy-x2x4z', 'kube-proxy', true],
    ['calico-system', 'calico-node-abcde', 'calico-node', true],
    ['kube-system', 'calico-node-abcde', 'calico-node', true],
    ['kube-system', 'calico-node-abcde', 'install-cni', false],
    ['kube-system', 'calico-node-abcde', 'kube-proxy', false],
    ['kube-system', 'kube-network-policies-q7ztn', 'kube-network-policies', true],
    ['kube-system', 'kindnet-x2kq7', 'kindnet-cni', true],
    ['default', 'kindnet-x2kq7', 'kindnet-cni', false],
    ['default', 'kube-proxy-x2x4z', 'kube-proxy', false],
    ['kube-system', 'my-kube-proxy', 'kube-proxy', false],
  ],
  paths: [
    [
      '/var/log/pods/kube-system_kube-proxy-x_0f/kube-proxy/12.log',
      { namespace: 'kube-system', pod: 'kube-proxy-x', uid: '0f', container: 'kube-proxy', restarts: 12 },
    ],
    ['ns_pod_uid/c/0.log', { namespace: 'ns', pod: 'pod', uid: 'uid', container: 'c', restarts: 0 }],
    [
      '/var/log/pods/ns_pod_uid/c/0.log.20261121-101010',
      { namespace: 'ns', pod: 'pod', uid: 'uid', container: 'c', restarts: 0 },
    ],
    ['/var/log/pods/ns_pod_uid/c/1.log.gz', { namespace: 'ns', pod: 'pod', uid: 'uid', container: 'c', restarts: 1 }],
    [
      '/var/log/containers/pod_ns_c-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.log',
      {
        namespace: 'ns',
        pod: 'pod',
        uid: '0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
        container: 'c',
        restarts: 0,
      },
    ],
    ['/var/log/containers/pod_ns_c-0123.log', undefined],
    ['/var/log/pods/ns_pod_uid/c/0.txt', undefined],
    ['/var/log/pods/ns_pod/c/0.log', undefined],
    ['/var/log/pods/ns_pod_uid_more/c/0.log', undefined],
    ['0.log', undefined],
    ['', undefined],
  ],
};

function foldersOf(list: ListFolder): FolderNames {
  return createFolderNames(
    () => 0,
    list,
    () => 0,
  );
}

/** Whether the container's log is found if there is no other. */
function isFound(rules: readonly ContainerRule[], ...[namespace, pod, container]: string[]): boolean {
  const levels = [[`${namespace}_${pod}_1`], [container ?? ''], ['0.log']];
  return (
    createLogFinder(
      '/logs',
      rules,
      foldersOf(() => levels.shift() ?? []),
    )().found.size > 0
  );
}

test.each(tables.byDefault)('by default: %s/%s/%s %s', (namespace, name, container, expected) => {
  expect(isFound(defaultRules, namespace, name, container)).toBe(expected);
});

test('a rule is read', () => {
  expect(parseContainerRule('kube-system, calico-system/kube-proxy*/kube-proxy,*')).toStrictEqual({
    namespaces: ['kube-system', 'calico-system'],
    pods: ['kube-proxy*'],
    containers: ['kube-proxy', '*'],
  });
});

test.each(['kube-system/kube-proxy', 'a/b/c/d', '', '/b/c', 'a/b,/c', 'a/b/ ', 'a/Kube_Proxy/c'])(
  'is not a rule: %j',
  (text) => {
    expect(() => parseContainerRule(text)).toThrow(RangeError);
  },
);

test("when a Pod's folder comes or goes, the others are not matched again", () => {
  let looks = 0;
  const rules = [
    {
      ...defaultRules[0],
      pods: ['web*'],
      containers: ['*'],
      get namespaces() {
        return (looks++, ['shop']);
      },
    },
  ];
  const pods = Array.from({ length: 1000 }, (_, number) => `shop_web-${number}_${number}`);
  let root = pods;
  const list = (path: string): string[] => (path === '/pods' ? [...root] : path.endsWith('/c') ? ['0.log'] : ['c']);
  const find = createLogFinder('/pods', rules, foldersOf(list));
  expect(find().found.size).toBe(1000);
  for (const names of [[...pods, 'shop_web-new_1'], pods.slice(1)]) {
    looks = 0;
    root = names;
    expect(find().found.size).toBe(names.length);
    expect(looks).toBeLessThanOrEqual(1);
  }
});

test('a star matches any text', () => {
  const name = fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 8 });
  const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*'), minLength: 1, maxLength: 6 });
  forAll([pattern, name], { numRuns: 2000 }, (glob, text) => {
    const rule = { namespaces: ['*'], pods: ['*'], containers: [glob] };
    const expected = new RegExp(`^${RegExp.escape(glob).replaceAll(String.raw`\*`, '.*')}$`).test(text);
    expect(isFound([rule], 'x', 'y', text)).toBe(expected);
  });
});

test.each(tables.paths)('finds the owner of the log %s', (path, name) => {
  expect(containerOfPath(path)).toStrictEqual(name);
});

test.each(['__', 'a__c', '_b_c', 'a_b_', 'shop_web\u202e_1', '<!here>_web_1', 'shop_web_$(reboot)'])(
  'is not the folder of a Pod: %s',
  (folder) => {
    expect(podOfFolder(folder)).toBeUndefined();
  },
);
