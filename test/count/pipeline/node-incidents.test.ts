import { describe, expect, test } from 'vitest';
import type { IncidentDetails } from '../../../src/base/model/incident.ts';
import type { NodeIncidentsOptions, NodeIncidentsState } from '../../../src/explain/incidents/incidents.ts';
import { parseProgramRecord } from '../../../src/read/parsing/components/program-record.ts';
import { felixSettings, line, nine, postgresService } from '../../builders.ts';
import { affectedPod, nodeIncidents } from '../../explain/incidents/node-incidents.ts';
import { calicoLog, complete, failed, incidentScene, type IncidentScene, proxyLog } from './incident-scene.ts';

const second = 1000;
const minute = 60 * second;

interface Scene extends IncidentScene {
  /** The failures counted on each object in an incident's details, by `Kind name`. */
  counts: () => Record<string, number>;
  /** The last details published, by `reason Kind name`. */
  details: () => Record<string, IncidentDetails>;
}

function scene(given: Partial<NodeIncidentsOptions> = {}): Scene {
  const one = incidentScene(given);
  const { published } = one;
  return {
    ...one,
    counts() {
      const sums: Record<string, number> = {};
      for (const { finding, weight } of published) {
        const { details, regarding } = finding;
        if (details.kind !== 'incident' || details.role !== 'full' || details.phase !== 'open') continue;
        const key = `${regarding.kind} ${regarding.name}`;
        sums[key] = (sums[key] ?? 0) + weight;
      }
      return sums;
    },
    details: () =>
      Object.fromEntries(
        published.map(({ finding: { reason, regarding, details } }) => [
          `${reason} ${regarding.kind} ${regarding.name}`,
          details as IncidentDetails,
        ]),
      ),
  };
}

test("an incident is published on the Pod whose log reports it, found by the name in the log's path", () => {
  const one = scene();
  one.fail(nine);
  expect(one.counts()).toEqual({});
  one.fail(nine + 30 * second);
  expect(one.counts()).toEqual({ 'Pod kube-proxy-x7k2p': 2, 'Node node-a': 2 });
});

test('a second line about a missing chain is published at once, even if no other line follows', () => {
  const one = scene();
  one.fail(nine);
  one.say(failed('KUBE-SVC-TCOU7JCQXEZGVUNU'), nine + 6 * second);
  expect(one.counts()).toEqual({ 'Pod kube-proxy-x7k2p': 2, 'Node node-a': 2 });
});

test('an incident ends with the first successful sync', () => {
  const one = scene();
  for (const at of [0, 30, 60]) one.fail(nine + at * second);
  one.say(complete, nine + 90 * second);
  expect(one.details()['ServiceChainsRestored Node node-a']).toMatchObject({
    phase: 'over',
    endedBy: 'success',
    failures: 3,
    since: nine,
    ended: nine + 90 * second,
  });
});

const fatal =
  'E0126 16:58:13.292840      12 server.go:134] "Error running ProxyServer" err="open /proc/sys/net/netfilter/nf_conntrack_max: no such file or directory"';

test('a kube-proxy that keeps restarting for a logged reason is one incident of that reason', () => {
  const one = scene();
  for (let start = 0; start < 6; start++) one.say(fatal, nine + start * minute, proxyLog(start));
  const open = one.incidents.tracker.incidents.filter(({ phase }) => phase === 'open');
  expect(open).toMatchObject([{ failing: 'kube-proxy', restarts: 5 }]);
  expect(open[0]?.code).not.toBe('KN117');
});

test('a kube-proxy that keeps restarting without a reason is one incident, with its last words', () => {
  const one = scene();
  const words = 'E1121 09:00:00.292840      12 server.go:134] "Something that nobody has seen before" err="broken"';
  for (let start = 0; start < 6; start++) one.say(words, nine + start * minute, proxyLog(start));
  expect(one.incidents.tracker.incidents).toMatchObject([{ code: 'KN117', restarts: 5 }]);
  expect(one.incidents.tracker.incidents[0]?.quote).toContain('Something that nobody has seen before');
});

const overwritten =
  '2026-11-21 09:00:00.942 [WARNING][56] felix/table.go 654: Detected out-of-sync inserts, marking for resync actualRuleIDs=[]string{"", "tVnHkvAo15HuiPy0"} chainName="FORWARD" expectedRuleIDs=[]string{"tVnHkvAo15HuiPy0", ""} ipVersion=0x4 table="filter"';

test.each([
  ['before felix notices', 0],
  ['after', 10],
])(
  "a reload of the host's firewall is an incident although felix logs it only once; its drops begin %s",
  (_, drops) => {
    const one = scene();
    if (drops === 0) one.incidents.firewallDropped(nine);
    one.say(overwritten, nine + 5 * second, calicoLog);
    if (drops > 0) one.incidents.firewallDropped(nine + drops * second);
    expect(one.details()['FirewallReloaded Node node-a']).toMatchObject({ code: 'KN204', diagnosis: 'KN205' });
  },
);

test("a reload of the host's firewall is not an incident if no packet is dropped", () => {
  const one = scene();
  one.say(overwritten, nine, calicoLog);
  one.incidents.tick(nine + 10 * minute);
  expect(one.details()).toEqual({});
});

test('a chain that belongs to no Service is only named', () => {
  const one = scene({
    chains: {
      ownerOf: (chain) =>
        chain === 'KUBE-SVC-L6LPUQKLZFD5NUFY' ? { service: postgresService, port: '5432', deleted: false } : undefined,
      backendsOf: () => [],
    },
  });
  one.fail(nine, undefined, 'KUBE-SVC-AAAAAAAAAAAAAAAA');
  one.fail(nine + 30 * second, undefined, 'KUBE-SVC-AAAAAAAAAAAAAAAA');
  expect(Object.keys(one.counts())).toEqual(['Pod kube-proxy-x7k2p', 'Node node-a']);
  one.fail(nine + minute);
  expect(one.details()['ServiceChainMissing Service postgres']?.services).toMatchObject([{ ports: ['5432'] }]);
});

test('nothing is lost or published twice if it is killed and continues from any snapshot', () => {
  const pods = [affectedPod('a', { problem: 'restarting' }), affectedPod('b')];
  const published: string[] = [];
  const count: NodeIncidentsOptions['count'] = ({ identity }, _, weight) => {
    for (let i = 0; i < weight; i++) published.push(identity);
  };
  const run = (cuts: boolean): string[] => {
    published.length = 0;
    let incidents = nodeIncidents(count, { podsHere: () => pods });
    for (let at = nine; at < nine + 10 * minute; at += 30 * second) {
      const text = at < nine + 5 * minute ? failed('KUBE-SVC-L6LPUQKLZFD5NUFY') : complete;
      const record = parseProgramRecord(text);
      if (record !== undefined) incidents.take(record, line({ source: proxyLog(), text, time: at }));
      if (cuts) {
        const restored = JSON.parse(JSON.stringify(incidents.state())) as NodeIncidentsState;
        incidents = nodeIncidents(count, { podsHere: () => pods, restored });
      }
      for (let now = at; now < at + 30 * second; now += 5 * second)
        if (incidents.nextTick() <= now) incidents.tick(now);
    }
    return [...published].toSorted();
  };
  const whole = run(false);
  expect(new Set(whole).size).toBeGreaterThan(6);
  expect(run(true)).toEqual(whole);
});

describe('a kube-proxy outside a container', () => {
  const started = 'I1121 09:00:00.000000    7312 server.go:680] "Version info" version="v1.36.3"';
  const crashed = 'F1121 09:00:01.000000    7312 hollow.go:43] no such device';

  test.each(['/var/log/kube-proxy.log', 'journal'])('%s: repeated starts are an incident', (source) => {
    const one = scene();
    for (let life = 0; life < 5; life++) {
      one.say(started, nine + life * minute, source);
      one.say(complete, nine + life * minute + 5 * second, source);
    }
    expect(one.incidents.tracker.incidents).toMatchObject([{ code: 'KN117', failing: 'kube-proxy', restarts: 4 }]);
    expect(one.counts()).toEqual({ 'Node node-a': 4 });
  });

  test('its last words are in the incident', () => {
    const one = scene();
    for (let life = 0; life < 4; life++) {
      one.say(started, nine + life * minute, 'journal');
      one.say(crashed, nine + life * minute + second, 'journal');
    }
    expect(one.incidents.tracker.incidents).toMatchObject([{ code: 'KN117', phase: 'open' }]);
    expect(one.incidents.tracker.incidents[0]?.quote).toContain('no such device');
  });

  test('a single failure is not an incident', () => {
    const one = scene();
    for (const at of [0, minute, 20 * minute]) one.say(started, nine + at, 'journal');
    expect(one.counts()).toEqual({});
  });

  test('a reason that it logs becomes the incident', () => {
    const one = scene();
    for (let life = 0; life < 4; life++) {
      one.say(started, nine + life * minute, 'journal');
      one.fail(nine + life * minute + second);
    }
    expect(one.incidents.tracker.incidents.filter(({ phase }) => phase === 'open').map(({ code }) => code)).toEqual([
      'KN102',
    ]);
  });

  test('a restart that its container also shows is counted once', () => {
    const one = scene();
    for (let life = 0; life < 3; life++) {
      one.say(complete, nine + life * minute, proxyLog(life));
      one.say(started, nine + life * minute, '/var/log/kube-proxy.log');
    }
    one.say(complete, nine + 3 * minute, proxyLog(3));
    expect(one.incidents.tracker.incidents).toMatchObject([{ code: 'KN117', restarts: 3 }]);
  });

  test('it continues from the earlier state', () => {
    const before = scene();
    for (const at of [0, minute, 2 * minute]) before.say(started, nine + at, 'journal');
    const restored = JSON.parse(JSON.stringify(before.incidents.state())) as NodeIncidentsState;
    const one = scene({ restored });
    one.say(started, nine + 3 * minute, 'journal');
    expect(one.incidents.tracker.incidents).toMatchObject([{ code: 'KN117', phase: 'open', restarts: 3 }]);
  });
});

const felixSays = (text: string): string => `2026-11-21 09:00:00.101 [ERROR][61] felix/daemon.go 376: ${text}`;

const settings = felixSettings({ bpfEnabled: true, bpfFrom: 'default' });
const facts: NodeIncidentsOptions['facts'] = { felix: () => ({ kind: 'settings', settings }) };
const unsupported = felixSays(
  'BPF dataplane mode enabled but not supported by the kernel.  Disabling BPF mode. error=x',
);
const on = felixSays("BPF enabled, configuring iptables/nftables layer to clean up kube-proxy's rules.");

test.each([
  ['felix goes on without', [unsupported], 'ServiceChainMissing'],
  ['felix logs that it is on', [on], 'CalicoDeletesServiceChains'],
  ['felix logs so after it was restarted', [unsupported, on], 'CalicoDeletesServiceChains'],
  ['neither is logged', [], 'CalicoDeletesServiceChains'],
])('eBPF that the kernel does not support: %s', async (_, logged, reason) => {
  const one = scene({ facts });
  for (const text of logged) one.say(text, nine, calicoLog);
  one.fail(nine + minute);
  one.fail(nine + minute + 30 * second);
  await Promise.resolve();
  expect(Object.keys(one.details())).toContainEqual(expect.stringContaining(reason));
});

test('the log of an earlier felix does not apply to the next one', async () => {
  const one = scene({ facts });
  one.say(unsupported, nine, calicoLog);
  one.say(felixSays('Something else'), nine + second, calicoLog.replace('0.log', '1.log'));
  one.fail(nine + minute);
  one.fail(nine + minute + 30 * second);
  await Promise.resolve();
  expect(Object.keys(one.details())).toContainEqual(expect.stringContaining('CalicoDeletesServiceChains'));
});
