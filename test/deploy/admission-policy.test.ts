import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { admissionPolicyFile, eventReasons, withReasons } from '../../scripts/helm-chart.ts';
import { causes } from '../../src/explain/incidents/catalogue/catalogue.ts';
import { conditionType } from '../../src/explain/incidents/incidents.ts';
import { annotationPrefix, component, eventOf } from '../../src/publish/events/events.ts';
import { root } from './manifests.ts';

/** The policy allows exactly the writes of the program; a test at an API server checks that it refuses others (test/e2e). */

const policy = readFileSync(join(root, admissionPolicyFile), 'utf8');

test("the policy's list of reasons is up to date", () => {
  expect(withReasons(policy)).toBe(policy);
});

test('the policy lists every reason in the sources of Events', () => {
  const folders = ['explain/drops', 'count/series', 'explain/incidents/catalogue', 'explain/incidents/reporting'];
  const paths = folders.flatMap((folder) => globSync(join(root, 'src', folder, '**/*.ts')));
  const texts = [...paths, join(root, 'src/cli/doctor/test-event.ts')].map((path) => readFileSync(path, 'utf8'));
  const literals = texts.flatMap((text) =>
    [...text.matchAll(/\b(?:over)?[rR]eason: [^\n]*/g)].flatMap(([line]) =>
      [...line.matchAll(/'([A-Z]\w+)'/g)].map(([, reason = '']) => reason),
    ),
  );
  // The reason of a condition, not of an Event.
  const ofEvents = [...new Set(literals)].filter((reason) => reason !== 'NetfilterRulesCurrent');
  expect(ofEvents.toSorted()).toEqual(eventReasons());
});

test('the policy lists the kinds, fields and annotations of the Events of all samples', () => {
  const kinds = list(/kind\.orValue\(''\) in \[([^\]]*)\]/);
  const fields = list(/event\[key\] == null \|\| key in \[([^\]]*)\]/);
  const ofMetadata = list(/event\.metadata\[key\] == null \|\| key in \[([^\]]*)\]/);
  const ofObjects = list(/object\.all\(key, key in \[([^\]]*)\]/);
  expect(kinds).toEqual(['Pod', 'Node', 'Service']);
  const files = globSync(join(root, 'samples/*.expected.json'));
  const events = files.flatMap((path) => (JSON.parse(readFileSync(path, 'utf8')) as { events: Event[] }).events);
  expect(events.length).toBeGreaterThan(30);
  for (const event of events) {
    expect(fields).toEqual(expect.arrayContaining(Object.keys(event)));
    expect(ofMetadata).toEqual(expect.arrayContaining(Object.keys(event.metadata)));
    expect(event.metadata.name).toMatch(/^[a-z0-9.-]+[.][0-9a-f]{20}$/);
    expect(eventReasons()).toContain(event.reason);
    for (const object of [event.involvedObject, ...(event.related === undefined ? [] : [event.related])]) {
      expect(kinds).toContain(object['kind']);
      expect(ofObjects).toEqual(expect.arrayContaining(Object.keys(object)));
    }
    for (const key of Object.keys(event.metadata.annotations)) expect(key.startsWith(annotationPrefix)).toBe(true);
    expect(Object.keys(event.metadata.annotations).length).toBeLessThan(32);
  }
});

test('the policy has the names that the program uses', () => {
  for (const name of [`'${component}'`, `'${annotationPrefix}'`, `'${conditionType}'`]) expect(policy).toContain(name);
});

test("the longest text of the condition is shorter than the policy's limit", () => {
  const titles = causes.map(({ code, title }) => `${code}: ${title}`.length).toSorted((a, b) => b - a);
  const longest = titles.slice(0, 4).reduce((sum, length) => sum + length, 0);
  expect(longest + 'n'.repeat(253).length + 60).toBeLessThan(1024);
});

test('the reporting instance cuts a long name of a node where the policy cuts it', () => {
  const node = 'n'.repeat(253);
  const details = { kind: 'overflow' } as const;
  const regarding = { apiVersion: 'v1', kind: 'Pod', namespace: 'a', name: 'b', uid: '', resourceVersion: undefined };
  const series = {
    finding: { identity: 'x', reason: 'PacketDrop', type: 'Warning', regarding, related: undefined, node, details },
    window: 0,
    count: 1,
    first: 0,
    last: 0,
    peers: { seen: [] },
    ports: { seen: [] },
    published: { base: 0, writes: 0 },
  } as unknown as Parameters<typeof eventOf>[0];
  const [, most = ''] = /node\.size\(\) > (\d+)/.exec(policy) ?? [];
  expect(eventOf(series, 'x', 0).reportingInstance).toBe(`${component}-${node.slice(0, Number(most))}`);
});

/** The quoted words of the list that a pattern finds in the policy. */
function list(pattern: RegExp): string[] {
  return [...(pattern.exec(policy)?.[1] ?? '').matchAll(/'(\w+)'/g)].map(([, name = '']) => name);
}

interface Event {
  readonly metadata: { readonly name: string; readonly annotations: Readonly<Record<string, string>> };
  readonly involvedObject: Readonly<Record<string, string>>;
  readonly related?: Readonly<Record<string, string>>;
  readonly reason: string;
}
