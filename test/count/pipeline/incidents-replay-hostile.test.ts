import { expect, test } from 'vitest';
import { type Outcome, sample } from '../../cli/program.ts';
import { replay } from '../../cli/replaying.ts';
import { cluster, writerIn } from '../../cli/scene.ts';
import { temporaryFolder } from '../../read/sources/temporary-folder.ts';

const write = writerIn(temporaryFolder());

const nine = Date.UTC(2026, 10, 21, 9);
const chain = 'KUBE-SVC-L6LPUQKLZFD5NUFY';

/** A record of the kubelet's, as the runtime writes it. */
const cri = (time: number, text: string, tag = 'F'): string =>
  `${new Date(time).toISOString()} stderr ${tag} ${text}\n`;
const klog = (text: string): string => `E1121 09:00:00.910840       1 proxier.go:1564] ${text}`;
const failed = (name = chain, more = ''): string =>
  klog(
    `"Failed to execute iptables-restore" err="exit status 2: iptables-restore v1.8.9 (legacy): Couldn't load target \`${name}':No such file or directory\\n${more}" ipFamily="IPv4"`,
  );

interface WrittenEvent {
  reason: string;
  count: number;
  message: string;
  involvedObject: { kind: string; name: string };
}

/** Events of node-a's Node, by reason. */
function eventsOfNode({ out }: Outcome): Record<string, WrittenEvent> {
  const events = out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as WrittenEvent]));
  return Object.fromEntries(
    events.filter(({ involvedObject }) => involvedObject.kind === 'Node').map((event) => [event.reason, event]),
  );
}

async function run(log: string, ...pods: string[]): Promise<Outcome> {
  const objects = [cluster, ...pods].flatMap((file) => ['--pods', file]);
  return await replay([...objects, '-q', '-o', 'json', log]);
}

test('replays ten thousand different errors a minute', async () => {
  let text = '';
  for (let i = 0; i < 10_000; i++) {
    const name = i
      .toString(32)
      .toUpperCase()
      .replace(/[0189]/g, 'Z');
    text += cri(nine + i * 6, failed(`KUBE-SVC-${name.padStart(16, 'A')}`));
  }
  const outcome = await run(write('kube-proxy-lw8zd-flood.log', text));
  const { ServiceChainMissing: event, ...others } = eventsOfNode(outcome);
  expect([outcome.status, outcome.err, Object.keys(others)]).toEqual([0, '', []]);
  expect(event?.count).toBe(10_000);
  expect(event?.message).toMatch(/254 more\)\. .*\[KN102\]$/);
  expect(outcome.out.trim().split('\n').length).toBeLessThan(30);
});

test('replays an error of a megabyte on one line, as the runtime splits it', async () => {
  const rules = '-A KUBE-SERVICES -m comment --comment \\"a rule\\" -j KUBE-SVC-AAAAAAAAAAAAAAAA\\n'.repeat(14_000);
  let text = '';
  for (const at of [nine, nine + 30_000]) {
    const record = failed(chain, rules);
    for (let from = 0; from < record.length; from += 16_384)
      text += cri(at, record.slice(from, from + 16_384), from + 16_384 < record.length ? 'P' : 'F');
  }
  expect(text.length).toBeGreaterThan(2_000_000);
  expect(eventsOfNode(await run(write('kube-proxy-lw8zd-line.log', text)))).toMatchObject({
    ServiceChainMissing: { count: 2 },
  });
});

test('replays an error over fourteen thousand lines', async () => {
  let text = '';
  for (const at of [nine, nine + 30_000]) {
    text += cri(at, klog('"Failed to execute iptables-restore" err=<'));
    text += cri(at, `\texit status 2: iptables-restore v1.8.9 (legacy): Couldn't load target \`${chain}':No such file`);
    text += cri(at, '\t-A KUBE-SERVICES -m comment --comment "Sync failed" -j KUBE-SVC-AAAAAAAAAAAAAAAA').repeat(
      14_000,
    );
    text += cri(at, ' > ipFamily="IPv4"');
  }
  const { ServiceChainMissing: event } = eventsOfNode(await run(write('kube-proxy-lw8zd-lines.log', text)));
  expect(event).toMatchObject({ count: 2 });
  expect(event?.message).toContain('deletes chains of kube-proxy. Affected: Service shop/postgres port 5432;');
});

test('replays a log that is binary between two errors', async () => {
  const noise = Buffer.from(Array.from({ length: 100_000 }, (_, i) => (Math.imul(i, 2_654_435_761) >>> 13) & 255));
  const [first, second] = [cri(nine, failed()), cri(nine + 30_000, failed())];
  const log = write(
    'kube-proxy-lw8zd-binary.log',
    Buffer.concat([Buffer.from(first), noise, Buffer.from(`\n${second}`)]),
  );
  const outcome = await run(log);
  expect(outcome.status).toBe(0);
  expect(eventsOfNode(outcome)).toMatchObject({ ServiceChainMissing: { count: 2 } });
});

test('replays stamps of other years, invalid days and without a year', async () => {
  const stamps = [
    '2026-11-21T09:00:00Z',
    '2036-11-21T09:00:30Z',
    '1999-11-21T09:01:00Z',
    '9999-12-31T23:59:59.999999999Z',
    '0001-01-01T00:00:00Z',
    '2026-02-30T09:00:00Z',
    '2026-11-21T09:01:30Z',
    '2026-11-21T09:02:00Z',
  ];
  const text = stamps.map((stamp) => `${stamp} stderr F ${failed()}\n`).join('');
  const outcome = await run(write('kube-proxy-lw8zd-years.log', text));
  expect(outcome.status).toBe(0);
  expect(eventsOfNode(outcome)['ServiceChainMissing']?.message).toMatch(/\[KN102\]$/);
});

test('replays JSON with invalid stamps', async () => {
  const error = `iptables-restore v1.8.9 (legacy): Couldn't load target \`${chain}':No such file or directory`;
  const text = [1e300, -1e300, 'x', null, 0, {}, 1_795_226_670_836.5, 1_795_226_700_836.5, 1e15]
    .map((ts) =>
      JSON.stringify({ ts, caller: 'iptables/proxier.go:20', msg: 'Failed to execute iptables-restore', err: error }),
    )
    .join('\n');
  const outcome = await run(write('kube-proxy-lw8zd-json.log', `${text}\n`));
  expect(outcome.status).toBe(0);
  expect(eventsOfNode(outcome)['ServiceChainMissing']?.message).toMatch(/since (?:\S+ )?02:04:30 UTC.*\[KN102\]$/);
});

test("replays the log of a Pod whose name begins with another Pod's", async () => {
  const pods = JSON.stringify({
    apiVersion: 'v1',
    kind: 'List',
    items: ['kube-proxy', 'kube-proxy-node-z'].map((name, i) => ({
      kind: 'Pod',
      metadata: { namespace: 'kube-system', name, uid: `uid-${i}` },
      spec: { nodeName: i === 0 ? 'node-y' : 'node-z', hostNetwork: true },
      status: { phase: 'Running' },
    })),
  });
  const text = cri(nine, failed()) + cri(nine + 30_000, failed());
  const outcome = await run(write('kube-proxy-node-z.log', text), write('pods.json', pods));
  expect(eventsOfNode(outcome)['ServiceChainMissing']?.involvedObject.name).toBe('node-z');
});

const fight = sample('kube-proxy-lw8zd-fight.log');
const metadata = { name: 'default' };
const kind = 'FelixConfiguration';
const of = async (document: unknown): Promise<Outcome> => run(fight, write('felix.json', JSON.stringify(document)));

test.each([
  ['without a spec', { kind, metadata }],
  ['whose spec is null', { kind, metadata, spec: null }],
  ['whose spec is a list', { kind, metadata, spec: ['bpfEnabled'] }],
  [
    'with texts for flags',
    { kind, metadata, spec: { bpfEnabled: 'true', iptablesBackend: { a: 1 }, logSeverityScreen: ['x'] } },
  ],
  ['of another node', { kind, metadata: { name: 'node.node-z' }, spec: { bpfEnabled: true } }],
  [
    'that one for this node overrides',
    {
      kind: `${kind}List`,
      items: [
        { metadata, spec: { bpfEnabled: true } },
        { metadata: { name: 'node.node-a' }, spec: { bpfEnabled: false } },
      ],
    },
  ],
])('a saved FelixConfiguration: %s explains nothing', async (_, document) => {
  const outcome = await of(document);
  expect([outcome.status, outcome.err]).toEqual([0, '']);
  expect(Object.keys(eventsOfNode(outcome))).toEqual(['ServiceChainMissing']);
});

test.each([
  ['without a name', {}, 'no'],
  ['with a number for a name', { name: 7 }, 'no'],
  ['with a name that is a command', { name: 'node.node-a; reboot' }, 'an impossible'],
  ['with a name of JavaScript’s', { name: '__proto__' }, 'an impossible'],
])('a saved FelixConfiguration: %s is reported', async (_, named, fault) => {
  const outcome = await of({ kind, metadata: named, spec: { bpfEnabled: true } });
  expect(outcome.status).toBe(1);
  expect(outcome.err).toContain(`the FelixConfiguration has ${fault} metadata.name`);
  expect(Object.keys(eventsOfNode(outcome))).toEqual(['ServiceChainMissing']);
});

test('a FelixConfiguration of an unknown version is read as far as it can be', async () => {
  const spec = {
    bpfEnabled: true,
    bpfKubeProxyIptablesCleanupEnabled: null,
    logSeverityScreen: 'Fatal',
    other: [{}],
  };
  const { CalicoDeletesServiceChains: event } = eventsOfNode(
    await of({ apiVersion: 'projectcalico.org/v9', kind, metadata, spec }),
  );
  expect(event?.message).toContain('kubectl patch felixconfiguration default ');
  expect(event?.message).toContain('logSeverityScreen Fatal');
});
