import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { drops } from '../../../src/cli/drops/drops.ts';
import { type FilteredFlow, createFilter } from '../../../src/cli/drops/filters.ts';
import type { Cluster } from '../../../src/cli/drops/user-cluster.ts';
import { readDropsOptions } from '../../../src/cli/options/drops-options.ts';
import { json, refuse, type ScriptedServer, startScriptedServer } from '../../agent/kubernetes/scripted-server.ts';
import { temporaryFolder } from '../../read/sources/temporary-folder.ts';
import { parsed } from '../parsed.ts';
import { kubeconfigFor } from '../scene.ts';

const path = temporaryFolder();
let server: ScriptedServer;
/** The requests, without the paths of Events. */
let asked: string[];
/** The status with which the server refuses everything. */
let refusal: number | undefined;

const isOneObject = (place: string): boolean => /\/namespaces\/[^/]+\/[^/]+\/[^/]+$/.test(place);

const eventOf = (name: string, port: number, verdict = 'dropped') => ({
  metadata: {
    namespace: 'shop',
    name: `${name}.${port}`,
    annotations: Object.fromEntries(
      Object.entries({
        schema: '1',
        direction: 'sending',
        verdict,
        protocol: port === 53 ? 'UDP' : 'TCP',
        port: `${port}`,
      }).map(([key, value]) => [`kube-netfilter-tailer/${key}`, value]),
    ),
  },
  involvedObject: { kind: 'Pod', namespace: 'shop', name },
  reason: 'PacketDrop',
  lastTimestamp: '2026-11-21T10:00:00Z',
});

beforeEach(async () => {
  asked = [];
  const events = [eventOf('web-1', 53), eventOf('web-1', 443, 'rejected'), eventOf('db-0', 53)];
  const objects: Record<string, object> = {
    '/apis/apps/v1/namespaces/shop/deployments/web': {
      metadata: { namespace: 'shop', name: 'web' },
      spec: { selector: { matchLabels: { app: 'web' } } },
    },
    '/api/v1/namespaces/shop/pods': { items: [{ metadata: { namespace: 'shop', name: 'web-1' } }] },
  };
  refusal = undefined;
  server = await startScriptedServer(({ path: place, query, response }) => {
    if (refusal !== undefined) return refuse(response, refusal);
    if (!place.endsWith('events')) asked.push(place);
    if (isOneObject(place) && !(place in objects) && !/\/pods\/web-/.test(place))
      return refuse(response, 404, 'NotFound');
    const [, name] = /involvedObject\.name=([^,]*)/.exec(query['fieldSelector'] ?? '') ?? [];
    const named = events.filter(({ involvedObject }) => name === undefined || involvedObject.name === name);
    const found = place.endsWith('events') ? { metadata: { resourceVersion: '1' }, items: named } : objects[place];
    json(response, 200, found ?? { items: [] });
  });
  writeFileSync(path('kubeconfig'), kubeconfigFor(server.url));
});
afterEach(() => server.stop());

async function listed(...args: string[]): Promise<{ names: string[]; err: string }> {
  const options = readDropsOptions(
    parsed('kubectl drops', '-n', 'shop', '-o', 'name', ...args, '--kubeconfig', path('kubeconfig')),
  );
  let [out, err] = ['', ''];
  const streams = { out: (text: string) => void (out += text), err: (text: string) => void (err += text) };
  await drops(options, 'kubectl drops', streams, (_, text) => text);
  return { names: out.split('\n').flatMap((line) => line.replace('event/', '') || []), err };
}

test.each<[string[], string[]]>([
  [
    ['--port', '53'],
    ['db-0.53', 'web-1.53'],
  ],
  [['--port', '53/TCP'], []],
  [
    ['--port', '443,53/UDP'],
    ['db-0.53', 'web-1.443', 'web-1.53'],
  ],
  [['--verdict', 'Rejected'], ['web-1.443']],
  [
    ['--protocol', 'udp'],
    ['db-0.53', 'web-1.53'],
  ],
  [
    ['--from-pod', 'we'],
    ['web-1.443', 'web-1.53'],
  ],
  [['--from-pod', 'shop/db-0', '--from-pod', 'batch/web'], ['db-0.53']],
  [['--from-pod', 'deploy/web', '--port', '53'], ['web-1.53']],
  [['--to-pod', 'web-1'], []],
])('%j selects Events', async (args, expected) => {
  expect((await listed(...args)).names.toSorted()).toEqual(expected);
});

test('if a filter leaves nothing, the number of Events without it is printed', async () => {
  const { err } = await listed('--port', '80', '--verdict', 'dropped,rejected', '--from-pod', 'deploy/web');
  expect(err).toBe(
    '3 Events of lost packets in namespace shop, none matches --from-pod deployment/web --port 80 --verdict dropped,rejected\n',
  );
});

test.each<[string[], RegExp]>([
  [['nobody'], /^There is no Pod nobody in namespace shop, and no lost packets of one are known\n$/],
  [['reprot'], /; did you mean report\?\n$/],
  [['web'], / are known; for the Pods of the deployment of this name, use deployment\/web\n$/],
  [['web-9'], /^No lost packets are known for web-9 in namespace shop\. .*\n.* doctor\n$/],
  [
    ['deploy/web', '--node', 'node-x'],
    /^No lost packets are known for deployment\/web --node node-x in namespace shop\./,
  ],
  [
    ['--since', '90m', '-l', 'app=web'],
    /^No lost packets are known for --selector app=web --since 90m in namespace shop\./,
  ],
  [
    ['shop/web-1', '--port', '80'],
    /^2 Events of lost packets for shop\/web-1 in namespace shop, none matches --port 80\n$/,
  ],
])('without Events, the message names the request: %j', async (args, expected) => {
  const { names, err } = await listed('-o', 'table', ...args);
  expect({ names, err }).toEqual({ names: [], err: expect.stringMatching(expected) });
});

test('for credentials that the API server does not know, the message says what to do', async () => {
  refusal = 401;
  expect(await listed()).toEqual({
    names: [],
    err: 'kubectl drops: refused with 401: the API server does not know these credentials; log in to the cluster again\n',
  });
});

test('Pods of a workload are requested once, whatever Pods are in the Events', async () => {
  await listed('--from-pod', 'deploy/web');
  expect(asked).toEqual(['/apis/apps/v1/namespaces/shop/deployments/web', '/api/v1/namespaces/shop/pods']);
});

describe('a flow of', () => {
  const flow: FilteredFlow = {
    from: { kind: 'Deployment', namespace: 'shop', name: 'web', pod: 'web-1' },
    to: { kind: undefined, namespace: undefined, name: '203.0.113.9', pod: undefined },
    ports: ['22/TCP', '53/UDP'],
    protocol: undefined,
    verdict: 'dropped',
    policy: 'NetworkPolicy shop/web-egress, GlobalNetworkPolicy deny',
  };
  const matches = async (...args: string[]): Promise<boolean> => {
    const { filters } = readDropsOptions(parsed('kubectl drops', ...args));
    return (await createFilter({ namespace: 'shop' } as Cluster, filters)).matches(flow);
  };

  test.each<[string, string[], boolean]>([
    ['several ports, by the second', ['--port', '53'], true],
    ['several ports, by another', ['--port', '80'], false],
    ['several protocols', ['--protocol', 'udp'], true],
    ['several protocols, by another', ['--protocol', '47,icmp'], false],
    ['one of two policies', ['--policy', 'deny'], true],
    ['a policy with its Namespace', ['--policy', 'shop/web-egress'], true],
    ['a policy with its kind', ['--policy', 'NetworkPolicy shop/web-egress'], true],
    ['policies by a pattern', ['--policy', 'shop/*'], true],
    ['no policy that only begins so', ['--policy', 'web'], false],
    ['no policy of another Namespace', ['--policy', 'batch/web-egress'], false],
    ['a point is no pattern', ['--policy', 'den.'], false],
    ['an address is no Pod', ['--to-pod', '2'], false],
  ])('%s', async (_, args, expected) => {
    expect(await matches(...args)).toBe(expected);
  });

  test('icmp includes ICMPv6, icmpv4 does not', async () => {
    const ping = { ...flow, ports: [], protocol: 'ICMPv6' };
    const by = async (name: string) => {
      const { filters } = readDropsOptions(parsed('kubectl drops', '--protocol', name));
      return (await createFilter({ namespace: 'shop' } as Cluster, filters)).matches(ping);
    };
    expect([await by('icmp'), await by('ICMPv6'), await by('icmpv4')]).toEqual([true, true, false]);
  });
});
