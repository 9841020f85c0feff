import { readdirSync } from 'node:fs';
import { load } from 'js-yaml';
import { describe, expect, test } from 'vitest';
import type { CoreEvent } from '../../src/publish/events/event.ts';
import { expandEnv, readExporterConfig, readLokiConfig } from './exporter/exporter-config.ts';
import { receiversOf } from './exporter/exporter-rules.ts';
import { render } from './exporter/go-template.ts';
import { type AlertRule, alerts, root, textOf } from './files.ts';
import { readQuery } from './promql.ts';
import { eventsOfSample } from './sample-events.ts';

const shipped = textOf('deploy/exporters/kubernetes-event-exporter.yaml');
const env = { SLACK_WEBHOOK_URL: 'https://hooks.example.org/services/T0/B0/x' };
const { route, receivers } = readExporterConfig(shipped, env);

const [drops, incidents] = ['kube-netfilter-tailer-drops', 'kube-netfilter-tailer-incidents'] as const;

/** How often each program sends an Event. */
const sent: Readonly<Record<string, (event: CoreEvent) => number>> = {
  'kubernetes-event-exporter': (event) => receiversOf(route, event).length,
  Botkube: (event) => [drops, incidents].filter((source) => isSentByBotkube(source, event)).length,
  Robusta: (event) => Number(isSentByRobusta(event)),
};

describe.each(Object.entries(sent))('%s', (program, timesOf) => {
  test.each([
    ['policy-deny', ['PacketDrop shop/postgres-0']],
    ['egress-denied', ['PacketDrop monitoring/syslog-relay-node-b', 'PacketDrop shop/cart-79d4c5b6c8-hp6rw']],
    ['kube-proxy-lw8zd-lock', ['XtablesLockHeld node-a']],
    ['kube-proxy-lw8zd-nftables', ['NftSyncFailed node-a', 'NftSyncFailed shop/cart']],
  ])('sends one message for each problem of %s', (sample, expected) => {
    const events = eventsOfSample(sample);
    expect(namesOf(events.filter((event) => timesOf(event) > 0))).toEqual(expected);
    expect(Math.max(...events.map(timesOf))).toBe(1);
  });

  test('sends no Event of another component', () => {
    const events = ['policy-deny', 'kube-proxy-lw8zd-lock'].flatMap(eventsOfSample).filter((each) => timesOf(each) > 0);
    expect(events.length).toBeGreaterThan(1);
    for (const event of events) {
      const foreign = { ...event, source: { component: 'kubelet' }, reportingComponent: 'kubelet' };
      const { annotations: _, ...metadata } = event.metadata;
      // Botkube recognizes Events by their annotations, which no other component has.
      expect(timesOf(program === 'Botkube' ? { ...foreign, metadata } : foreign)).toBe(0);
    }
  });
});

test('sends recoveries if the "#" is removed', () => {
  const optional = readExporterConfig(shipped.replace(/^( +)# (?=- match:|  )/gm, '$1'), env);
  const events = eventsOfSample('kube-proxy-lw8zd-lock');
  const over = events.map((event): CoreEvent => Object.assign(event, recovery));
  expect(namesOf(over.filter((event) => receiversOf(optional.route, event).length > 0))).toEqual([
    'XtablesLockFree node-a',
  ]);
  expect(over.flatMap((event) => receiversOf(route, event))).toEqual([]);
  const node = events.find(({ involvedObject }) => involvedObject.kind === 'Node');
  expect(receiversOf(optional.route, { ...(node as CoreEvent), type: 'Normal', reason: 'TestEvent' })).toEqual([]);
});

test('teams are distinguished by labels of the object', () => {
  const text = shipped.replace(
    /^( +)reason: '\^PacketDrop\$'$/m,
    (line, indent) => `${line}\n${indent}labels: { team: '^payments$' }`,
  );
  const teams = readExporterConfig(text, env).route;
  const event = eventOf('policy-deny', 'postgres-0');
  expect(receiversOf(teams, event, { team: 'payments' })).toEqual(['slack']);
  expect(receiversOf(teams, event, { team: 'other' })).toEqual([]);
});

test('teams are distinguished by namespace, without a request to the API server', () => {
  const [line = ''] = /^# {3}(namespace: '\^\(payments\|checkout\)\$')$/m.exec(shipped)?.slice(1) ?? [];
  const teams = (name: string) =>
    readExporterConfig(
      shipped.replace(
        /^( +)reason: '\^PacketDrop\$'$/m,
        (other, indent) => `${other}\n${indent}${line.replace('payments', name)}`,
      ),
      env,
    ).route;
  const drop = eventOf('policy-deny', 'postgres-0');
  expect(receiversOf(teams('shop'), drop)).toEqual(['slack']);
  expect(receiversOf(teams('other'), drop)).toEqual([]);
  expect(receiversOf(teams('other'), eventOf('kube-proxy-lw8zd-lock', 'node-a'))).toEqual(['slack']);
});

test('no field of an Event can mention a channel', () => {
  const text = receivers[0]?.webhook.layout.text ?? '';
  const evil = '<!channel> & co';
  const event = { reason: evil, message: evil, involvedObject: { kind: 'Node', namespace: evil, name: evil } };
  const escaped = '&lt;!channel&gt; &amp; co';
  expect(render(text, event)).toBe(`*${escaped}* Node ${escaped}/${escaped}: ${escaped}`);
});

test('the secret is inserted, and no expression is damaged', () => {
  expect(receivers[0]?.webhook.endpoint).toBe(env.SLACK_WEBHOOK_URL);
  expect(expandEnv("'^a$' ^b$) ${X} $Y-", { X: '1', Y: '2' })).toBe("'^a$' ^b$) 1 2-");
  expect(expandEnv(shipped, env)).toBe(shipped.replace('${SLACK_WEBHOOK_URL}', env.SLACK_WEBHOOK_URL));
});

test('an unknown setting, an expression that Go cannot compile and a field that no Event has are refused', () => {
  expect(() => readExporterConfig(shipped.replace('reason:', 'reasons:'), env)).toThrow('reasons');
  for (const pattern of ['^(?!Node)PacketDrop$', '(?<=x)PacketDrop', String.raw`(.)\1`])
    expect(() =>
      readExporterConfig(
        shipped.replace('^PacketDrop$', () => pattern),
        env,
      ),
    ).toThrow('not in the syntax of Go');
  for (const template of ['{{ .Reson }}', '{{ with .Nope }}a{{ end }}', '{{ with .Reason }}{{ else }}none{{ end }}'])
    expect(() => render(template, eventOf('policy-deny', 'postgres-0'))).toThrow(/this (?:can )?render/);
});

/**
 * The answers of the real kubernetes-event-exporter 1.7 to the same questions that the stand-in in exporter/ is asked.
 */
const nodeEvent = eventOf('kube-proxy-lw8zd-lock', 'node-a');

test.each([
  ['${A}$A-$B-', 'oneone--'],
  ['$A_', ''],
  ['$1A $$A $?', 'A A '],
  ['${A', 'A'],
  ["${a{b} ${} '${|${A}", "two  '"],
  ['${\n}a$\n$', 'a$\n$'],
])('the stand-in answers like the real program: variables of %j', (text, expected) => {
  expect(expandEnv(text, { A: 'one', 'a{b': 'two' })).toBe(expected);
});

test.each([
  ['{{.Reason}} {{ .Source.Component }}', 'XtablesLockHeld kube-netfilter-tailer'],
  ['{{ with .InvolvedObject.Namespace }}{{ . }}/{{ end }}{{ .InvolvedObject.Name }}', 'node-a'],
  ['{{ .InvolvedObject.APIVersion | replace "v" "<" | replace "<" ">" }}', '>1'],
])('the stand-in answers like the real program: the template %s', (template, expected) => {
  expect(render(template, nodeEvent)).toBe(expected);
});

const lokiConfig = readLokiConfig(textOf('deploy/exporters/kubernetes-event-exporter-loki.yaml'), {
  LOKI_URL: 'http://l',
});
const { layout = {}, ...loki } = lokiConfig.receivers[0]?.loki ?? {};
const fieldsOf = (event: CoreEvent): object =>
  Object.fromEntries(
    Object.entries(layout)
      .map(([name, template]) => [name, render(template, event)] as const)
      .filter(([, value]) => value !== ''),
  );

test('a line has a field for each annotation of a drop, so no query has to parse the message', () => {
  const [drop] = eventsOfSample('policy-deny') as [CoreEvent];
  expect(loki).toMatchObject({ url: 'http://l', streamLabels: { job: 'kube-netfilter-tailer' } });
  expect(receiversOf(lokiConfig.route, drop)).toEqual(['loki']);
  expect(fieldsOf(drop)).toMatchObject({
    reason: 'PacketDrop',
    namespace: 'shop',
    name: 'postgres-0',
    node: 'node-b',
    direction: 'receiving',
    verdict: 'dropped',
    protocol: 'TCP',
    port: '5432',
    peer: 'Deployment/batch/worker',
    peers: '6',
    message: drop.message,
  });
});

test('a line has every annotation that a sample has', () => {
  for (const event of [
    ...eventsOfSample('port-scan'),
    ...eventsOfSample('kube-proxy-lw8zd-lock'),
    ...eventsOfSample('ipv6'),
  ])
    expect(fieldsOf(event)).toMatchObject(
      Object.fromEntries(
        Object.entries(event.metadata.annotations ?? {}).map(([key, value]) => [
          key.replace('kube-netfilter-tailer/', ''),
          value,
        ]),
      ),
    );
});

test('Events of other components are left out', () => {
  const [drop] = eventsOfSample('policy-deny') as [CoreEvent];
  expect(receiversOf(lokiConfig.route, { ...drop, source: { component: 'kubelet' } })).toEqual([]);
});

test('Alertmanager: routed and inhibited alerts exist', () => {
  const text = textOf('deploy/exporters/alertmanager.yaml');
  const names = alerts.map(({ alert }) => alert);
  const patterns = [...text.matchAll(/alertname =~? "([^"]+)"/g)].map(([, pattern = '']) => pattern);
  expect(patterns.length).toBe(7);
  const isName = (pattern: string): boolean => names.some((name) => new RegExp(`^(?:${pattern})$`).test(name));
  expect(patterns.filter((pattern) => !isName(pattern))).toEqual([]);
  expect(load(text)).toMatchObject({ route: { routes: [{ group_interval: '1h' }] } });
});

test('Alertmanager: no inserted value can mention a channel', () => {
  const { receivers: all } = load(textOf('deploy/exporters/alertmanager.yaml')) as {
    receivers: { slack_configs?: { title: string; text: string }[] }[];
  };
  const [{ title, text } = { title: '', text: '' }] = all.flatMap(({ slack_configs: slack = [] }) => slack);
  const values = [...`${title}${text}`.matchAll(/\{\{ (.*?) \}\}/g)].flatMap(([, action = '']) =>
    /^(?:if|with|range|end|else)\b|^len |^"\\n"$/.test(action) ? [] : [action],
  );
  expect(values).toHaveLength(5);
  for (const value of values)
    expect(value).toMatch(/ \| reReplaceAll "&" "&amp;" \| reReplaceAll "<" "&lt;" \| reReplaceAll ">" "&gt;"$/);
});

test('Alertmanager: an inhibiting alert has the labels that both must share', () => {
  const { inhibit_rules: inhibitions } = load(textOf('deploy/exporters/alertmanager.yaml')) as {
    inhibit_rules: { source_matchers: string[]; target_matchers: string[]; equal: string[] }[];
  };
  expect(inhibitions).toHaveLength(3);
  for (const { source_matchers: sources, target_matchers: targets, equal } of inhibitions)
    for (const { alert, expr } of [...sources, ...targets].flatMap(alertsThatMatch))
      // Users with several clusters add `cluster`, to all alerts.
      expect([alert, ...readQuery(expr).grouping, 'cluster']).toEqual(expect.arrayContaining(equal));
});

function alertsThatMatch(matcher: string): readonly AlertRule[] {
  const [, pattern = ''] = /alertname =~? "([^"]+)"/.exec(matcher) ?? [];
  return alerts.filter(({ alert }) => new RegExp(`^(?:${pattern})$`).test(alert));
}

test('Botkube: drops and incidents have different sources, and an Event with a mention has none', () => {
  const [drop] = eventsOfSample('policy-deny') as [CoreEvent];
  const ofNode = { ...drop, involvedObject: { ...drop.involvedObject, kind: 'Node' } };
  const sourcesOf = (event: CoreEvent) => [drops, incidents].filter((source) => isSentByBotkube(source, event));
  expect([drop, ofNode].map(sourcesOf)).toEqual([[drops], [incidents]]);
  expect(sourcesOf(eventOf('kube-proxy-lw8zd-nftables', 'cart'))).toEqual([incidents]);
  for (const event of [drop, ofNode]) expect(sourcesOf({ ...event, message: '<!channel>' })).toEqual([]);
});

test('the three exporters that read Events send the same drops in every sample', () => {
  const samples = readdirSync(new URL('samples', root))
    .filter((name) => name.endsWith('.expected.json'))
    .map((name) => name.replace('.expected.json', ''));
  const events = samples.flatMap((sample) => eventsOfSample(sample)).filter(({ reason }) => reason === 'PacketDrop');
  const names = namesOf(events.filter((event) => receiversOf(route, event).length > 0));
  expect(names.length).toBeGreaterThan(10);
  expect(names.length).toBeLessThan(events.length);
  expect(namesOf(events.filter((event) => isSentByBotkube(drops, event)))).toEqual(names);
  // An Event that counts many drops together has no direction and no peer, so Robusta sends both sides.
  const single = events.filter(
    ({ metadata }) => metadata.annotations?.['kube-netfilter-tailer/direction'] !== undefined,
  );
  expect(namesOf(single.filter(isSentByRobusta))).toEqual(
    namesOf(single.filter((event) => receiversOf(route, event).length > 0)),
  );
});

test('docs/slack.md shows the real messages', () => {
  const document = textOf('docs/slack.md');
  for (const [name, object] of [
    ['policy-deny', 'postgres-0'],
    ['kube-proxy-lw8zd-lock', 'node-a'],
  ] as const) {
    const message = render(receivers[0]?.webhook.layout.text ?? '', eventOf(name, object));
    expect(document, `docs/slack.md is out of date; put this in:\n\n${message}\n`).toContain(message);
  }
});

function eventOf(sample: string, object: string): CoreEvent {
  return eventsOfSample(sample).find(({ involvedObject }) => involvedObject.name === object) as CoreEvent;
}

const recovery = { type: 'Normal', reason: 'XtablesLockFree', message: 'Resolved on node-a: done.' } as const;

interface BotkubeSource {
  event: Constraints;
  annotations?: Readonly<Record<string, string>>;
  resources: { type: string }[];
}

/**
 * Whether Botkube sends a Warning, according to internal/source/kubernetes/registration.go of kubeshop/botkube.
 * Annotations of the object are left out.
 */
function isSentByBotkube(source: string, { reason, message, metadata, involvedObject, type }: CoreEvent): boolean {
  const { sources } = load(textOf('deploy/exporters/botkube-values.yaml')) as {
    sources: Record<string, { 'botkube/kubernetes': { config: BotkubeSource } }>;
  };
  const { config } = sources[source]?.['botkube/kubernetes'] ?? {};
  if (config === undefined) throw new Error(`${source} is no source`);
  return (
    type === 'Warning' &&
    config.resources.some((each) => each.type === `v1/${involvedObject.kind.toLowerCase()}s`) &&
    allows(config.event.reason, reason) &&
    allows(config.event.message, message) &&
    Object.entries(config.annotations ?? {}).every(([key, value]) => metadata.annotations?.[key] === value)
  );
}

interface RobustaScope {
  include: Matcher[];
  exclude?: Matcher[];
}
type Matcher = Partial<Record<'attributes' | 'annotations', string[]>>;

/** Decides as src/robusta/utils/scope.py and src/robusta/integrations/kubernetes/base_triggers.py of robusta-dev/robusta do. */
function isSentByRobusta(event: CoreEvent): boolean {
  const { customPlaybooks } = load(textOf('deploy/exporters/robusta-values.yaml')) as {
    customPlaybooks: { triggers: { on_event_create: { scope: RobustaScope } }[] }[];
  };
  const scopes = customPlaybooks.flatMap(({ triggers }) => triggers.map((each) => each.on_event_create.scope));
  return scopes.some(
    ({ include, exclude = [] }) =>
      include.some((each) => isOfRobusta(each, event)) && !exclude.some((each) => isOfRobusta(each, event)),
  );
}

function isEach(line: string, isEqual: (name: string, value: string) => boolean): boolean {
  return line.split(',').every((part) => isEqual(...(part.trim().split(/=(.*)/) as [string, string])));
}

/** One line of each kind of matcher must match, with all its parts between commas. */
function isOfRobusta({ attributes, annotations }: Matcher, event: CoreEvent): boolean {
  const fields: Record<string, string | undefined> = {
    reportingController: event.reportingComponent,
    type: event.type,
    reason: event.reason,
    'regarding.kind': event.involvedObject.kind,
  };
  return (
    (attributes?.some((line) => isEach(line, (name, value) => fields[name]?.toLowerCase() === value.toLowerCase())) ??
      true) &&
    (annotations?.some((line) =>
      isEach(line, (name, pattern) => new RegExp(`^(?:${pattern})$`).test(event.metadata.annotations?.[name] ?? '')),
    ) ??
      true)
  );
}

interface Constraints {
  reason?: { include?: string[]; exclude?: string[] };
  message?: { include?: string[]; exclude?: string[] };
}

/** As internal/source/kubernetes/config/config.go of kubeshop/botkube. */
function allows(constraints: Constraints['reason'], value: string): boolean {
  const { include = [], exclude = [] } = constraints ?? {};
  if (include.length + exclude.length === 0) return true;
  if (exclude.some((pattern) => new RegExp(pattern).test(value))) return false;
  return include.length === 0 ? false : include.some((pattern) => new RegExp(pattern).test(value));
}

function namesOf(events: readonly CoreEvent[]): string[] {
  return events
    .map(
      ({ reason, involvedObject: { namespace, name } }) =>
        `${reason} ${namespace === undefined ? '' : `${namespace}/`}${name}`,
    )
    .toSorted();
}
