import { expect, onTestFinished, test, vi } from 'vitest';
import {
  askFacts,
  type SlowFactSources,
  createRecent,
  type FactSources,
  knownFacts,
} from '../../../src/explain/incidents/facts.ts';
import type { NodeFacts } from '../../../src/base/model/incident.ts';
import type { Incident } from '../../../src/explain/incidents/incident.ts';
import { nine } from '../../builders.ts';
import { openIncident as incident } from './node-incidents.ts';

const never = (): Promise<never> => new Promise(() => {});
const fail = (): never => {
  throw new Error('broken');
};

const now = () => nine;
const absent = { kind: 'absent' } as const;
const full = { count: 262_144, max: 262_144 };

const proc = (given: Partial<SlowFactSources['proc']>): Pick<SlowFactSources, 'proc'> => ({
  proc: { conntrack: never, topSources: never, podOfNetns: never, now, ...given },
});
const top = (address: string, connections: number) => () => Promise.resolve({ top: [{ address, connections }] });

const recent = createRecent();
recent.noteBackend('felix', 'legacy', nine);
recent.noteFirewallDrop(nine + 5000);

/** All sources answer; `asked` lists the requests. */
function finder(some: SlowFactSources = {}, known: FactSources = {}, seen = recent) {
  const asked: string[] = [];
  const sources: SlowFactSources = {
    felix: () => note('felix', absent),
    proc: {
      conntrack: (netns) => note(`conntrack ${netns}`, full),
      topSources: (netns) =>
        note(`top sources ${netns}`, {
          top: [
            { address: '10.244.0.7', connections: 200_000 },
            { address: '192.0.2.1', connections: 10 },
          ],
        }),
      podOfNetns: (netns) => note(`Pod of ${netns}`, 'uid-of-web-0'),
      now: () => nine + 30_000,
    },
    nameOf: (address) => (address === '10.244.0.7' ? 'shop/crawler-0' : undefined),
    ...some,
  };
  const all = { kubeProxyHere: () => true, ...known, asked: sources };
  return { find: (one: Incident) => askFacts(one, seen, all), asked };

  function note<T>(what: string, answer: T): Promise<T> {
    asked.push(what);
    return Promise.resolve(answer);
  }
}

test('the facts of a failure of kube-proxy are the settings of felix and recent log records', async () => {
  const { find, asked } = finder();
  expect(await find(incident())).toEqual({
    felix: absent,
    kubeProxyHere: true,
    conntrack: undefined,
    topSources: [],
    backends: { felix: 'legacy' },
    firewallDropsSince: nine + 5000,
  });
  expect(asked).toEqual(['felix']);
});

test.each([
  ['KN101', 'kube-proxy', ['felix']],
  ['KN204', 'felix', ['felix']],
  ['KN301', 'bird', ['felix']],
  ['KN402', 'kernel', []],
  ['KN403', 'kernel', []],
] as const)('the facts of %s of %s are requested: %j', async (code, failing, expected) => {
  const { find, asked } = finder();
  await find(incident({ code, failing }));
  expect(asked).toEqual(expected);
});

test('the facts of a full table are its level and its largest sources', async () => {
  const { find, asked } = finder();
  const facts = await find(incident({ code: 'KN401', failing: 'kernel' }));
  expect(asked).toEqual(['conntrack undefined', 'top sources undefined']);
  expect(facts.conntrack).toEqual(full);
  expect(facts.topSources).toEqual([
    { name: 'shop/crawler-0 (10.244.0.7)', connections: 200_000 },
    { name: '192.0.2.1', connections: 10 },
  ]);
});

test('the facts of a nearly full table are its level at that time, even if it has room again, and its largest sources', async () => {
  const table = { count: 210_000, max: 262_144 };
  const { find } = finder(proc({ conntrack: () => Promise.resolve(table), topSources: top('192.0.2.1', 10) }));
  const facts = await find(incident({ code: 'KN404', failing: 'kernel', subjects: ['the host'] }));
  expect(facts.conntrack).toEqual(table);
  expect(facts.topSources).toHaveLength(1);
  expect(facts.namespacePod).toBeUndefined();
});

test.each([['4026532317'], ['netns 4026532317']])("the subject names a Pod's table: %s", async (subject) => {
  const { find, asked } = finder();
  const facts = await find(incident({ code: 'KN401', failing: 'kernel', subjects: [subject] }));
  expect(asked).toEqual(['conntrack 4026532317', 'top sources 4026532317', 'Pod of 4026532317']);
  expect(facts.namespacePod).toBe('uid-of-web-0');
});

test("if several tables are named, the host's is read", async () => {
  const { find, asked } = finder();
  const facts = await find(incident({ code: 'KN401', failing: 'kernel', subjects: ['4026532317', 'the host'] }));
  expect(asked).toEqual(['conntrack undefined', 'top sources undefined']);
  expect(facts.namespacePod).toBeUndefined();
});

const tableOf = (conntrack: NodeFacts['conntrack'], after = 0, subjects = ['the host']) =>
  finder(
    proc({
      conntrack: () => Promise.resolve(conntrack),
      topSources: top('10.244.0.7', 100),
      now: () => nine + 30_000 + after,
    }),
  ).find(incident({ code: 'KN401', failing: 'kernel', subjects }));

test.each([262_144, 240_000])(
  "a full table without a namespace in its line is the host's if the host's holds %i of 262144",
  async (count) => {
    const facts = await tableOf({ count, max: 262_144 });
    expect(facts).toMatchObject({ conntrack: { count }, topSources: [{ connections: 100 }] });
    expect(facts.namespacePod).toBeUndefined();
  },
);

// Older kernels do not say whose table is full, and a Pod can fill its own.
test.each([0, 120, 230_000])(
  "a full table without a namespace in its line is another namespace's if the host's holds %i of 262144",
  async (count) => {
    const facts = await tableOf({ count, max: 262_144 });
    expect(facts).toMatchObject({ conntrack: { count, max: 262_144 }, namespacePod: null, topSources: [] });
  },
);

test.each([
  ['long after the line, when it may have emptied', { count: 120, max: 262_144 }, 31_000],
  ['where it cannot be read', { count: undefined, max: 262_144 }, 0],
])('a full table without a namespace in its line has an unknown owner %s', async (_, conntrack, after) => {
  const facts = await tableOf(conntrack, after);
  expect(facts.conntrack).toEqual({ count: undefined, max: 262_144 });
  expect(facts.namespacePod).toBeUndefined();
});

test("a full table without a namespace in its line is the host's if the kernel does name namespaces", async () => {
  const facts = await tableOf({ count: 120, max: 262_144 }, 0, ['network namespace 4026532317', 'the host']);
  expect(facts.namespacePod).toBeUndefined();
});

test("the host's table is not one of several namespaces' tables", async () => {
  const { find, asked } = finder();
  const subjects = ['network namespace 4026532317', 'network namespace 4026532318'];
  expect(await find(incident({ code: 'KN401', failing: 'kernel', subjects }))).toMatchObject({
    conntrack: undefined,
    topSources: [],
    namespacePod: null,
  });
  expect(asked).toEqual([]);
});

const logged = {
  felix: undefined,
  kubeProxyHere: undefined,
  conntrack: undefined,
  topSources: [],
  backends: { felix: 'legacy' },
  firewallDropsSince: nine + 5000,
};

test('without sources, log records are available at once', () => {
  expect(knownFacts(incident(), recent, {})).toEqual(logged);
  expect(knownFacts(incident({ code: 'KN401', failing: 'kernel' }), recent, {})).toEqual(logged);
});

test('known settings of felix are a fact only for failures of rules, and not if they cannot be read', () => {
  const felix = (): NodeFacts['felix'] => absent;
  expect(knownFacts(incident(), recent, { felix })).toEqual({ ...logged, felix: absent });
  expect(knownFacts(incident({ code: 'KN401', failing: 'kernel' }), recent, { felix })).toEqual(logged);
  expect(knownFacts(incident(), recent, { felix: fail })).toEqual(logged);
});

test("facts from the log are those of the incident's time, not of now", () => {
  const later = nine + 3 * 3_600_000;
  expect(knownFacts(incident({ first: later, last: later }), recent, {})).toMatchObject({
    backends: {},
    firewallDropsSince: undefined,
  });
});

test.each<[string, SlowFactSources, Partial<Incident>, Partial<NodeFacts>]>([
  [
    'one question about a table',
    proc({ conntrack: () => Promise.resolve(full) }),
    { code: 'KN401', failing: 'kernel' },
    { conntrack: full, topSources: [] },
  ],
  ['a look-up of what is behind Services', { prepareChains: never }, {}, { felix: absent }],
])('a late fact is undefined after a second, and the others are there: %s', async (_, sources, some, expected) => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const facts = finder(sources).find(incident(some));
  await vi.advanceTimersByTimeAsync(999);
  expect(await Promise.race([facts, Promise.resolve('waiting')])).toBe('waiting');
  await vi.advanceTimersByTimeAsync(1);
  expect(await facts).toMatchObject(expected);
  await finder().find(incident());
  expect(vi.getTimerCount()).toBe(0);
});

test('if the API server does not answer, FelixConfiguration is requested again for ten seconds', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const failed = { kind: 'unreadable', reason: 'failed' } as const;
  const felix = vi.fn<() => Promise<NodeFacts['felix']>>(() => Promise.resolve(failed));
  const late = finder({ felix }).find(incident());
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await late).toMatchObject({ felix: failed });
  expect(felix).toHaveBeenCalledTimes(10);

  felix.mockResolvedValueOnce(failed).mockResolvedValueOnce({ kind: 'absent' });
  const soon = finder({ felix }).find(incident());
  await vi.advanceTimersByTimeAsync(1000);
  expect(await soon).toMatchObject({ felix: { kind: 'absent' } });

  const unanswered = finder({ felix: never }).find(incident());
  await vi.advanceTimersByTimeAsync(9999);
  expect(await Promise.race([unanswered, Promise.resolve('waiting')])).toBe('waiting');
  await vi.advanceTimersByTimeAsync(1);
  expect(await unanswered).toMatchObject({ felix: undefined, kubeProxyHere: true });
  expect(vi.getTimerCount()).toBe(0);
});

test('if an API server takes long to fail, FelixConfiguration is not requested after ten seconds, and earlier failures still have their text', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const failed = { kind: 'unreadable', reason: 'failed' } as const;
  const felix = vi.fn<() => Promise<NodeFacts['felix']>>(
    () => new Promise((resolve) => void setTimeout(() => resolve(failed), 6000)),
  );
  const facts = finder({ felix }).find(incident());
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await facts).toMatchObject({ felix: failed });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(felix).toHaveBeenCalledTimes(2);
});

test('FelixConfiguration is requested after its delay, and its time limit begins then', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const felix = vi.fn<() => Promise<NodeFacts['felix']>>(
    () => new Promise((resolve) => void setTimeout(() => resolve({ kind: 'absent' }), 900)),
  );
  const facts = finder({ felix, felixDelay: () => 10_000 }).find(incident());
  await vi.advanceTimersByTimeAsync(9999);
  expect(felix).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(901);
  expect(await facts).toMatchObject({ felix: { kind: 'absent' } });
  expect(vi.getTimerCount()).toBe(0);
});

test('a failed fact is undefined', async () => {
  const failing = finder(
    {
      felix: () => Promise.reject(new Error('broken')),
      ...proc({ conntrack: fail, topSources: top('10.0.0.1', 1), podOfNetns: fail }),
      nameOf: fail,
      prepareChains: fail,
    },
    { kubeProxyHere: fail },
  );
  expect(await failing.find(incident())).toMatchObject({ felix: undefined, kubeProxyHere: undefined });
  expect(await failing.find(incident({ code: 'KN401', failing: 'kernel' }))).toMatchObject({
    conntrack: undefined,
    topSources: [{ name: '10.0.0.1', connections: 1 }],
  });
});

test.each([
  ['6.18.5', true],
  ['5.3.0-64-generic', true],
  ['5.2.21', undefined],
  ['4.18.0-553.el8_10.x86_64', undefined],
  ['4.15.0-213-generic', false],
  ['3.10.0-1160.el7.x86_64', false],
  ['unknown', undefined],
])('whether felix can use eBPF: kernel %s: %s', async (kernel, expected) => {
  expect((await finder({}, { kernel }).find(incident())).ebpf).toBe(expected);
});

test.each([true, false])("the log of felix counts more than the kernel's version: %s", async (on) => {
  const before = createRecent();
  before.noteEbpf(on);
  const restored = createRecent(JSON.parse(JSON.stringify(before.state())) as ReturnType<typeof before.state>);
  for (const kernel of ['6.18.5', '3.10.0', undefined])
    expect((await finder({}, kernel === undefined ? {} : { kernel }, restored).find(incident())).ebpf).toBe(on);
});
