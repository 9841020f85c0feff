import { expect, test } from 'vitest';
import type { CoreEvent } from '../../src/events/event.ts';
import { expandEnv, readExporterConfig } from './exporter/exporter-config.ts';
import { receiversOf } from './exporter/exporter-rules.ts';
import { render } from './exporter/go-template.ts';
import { textOf } from './files.ts';
import { eventsOfSample } from './sample-events.ts';

/** Compares with the answers of kubernetes-event-exporter 1.7 itself, asked the same as the stand-in for it in exporter/. */

const shipped = textOf('deploy/exporters/kubernetes-event-exporter.yaml');
const routeOf = (text: string) => readExporterConfig(text, {}).route;
const node = eventOf('kube-proxy-lw8zd-lock', 'node-a');
const drop = eventOf('policy-deny', 'postgres-0');

test.each([
  ['${A}$A-$B-', 'oneone--'],
  ['$A_', ''],
  ['$1A $$A $?', 'A A '],
  ['${A', 'A'],
  ["${a{b} ${} '${|${A}", "two  '"],
  ['${\n}a$\n$', 'a$\n$'],
  ["'^a$' ($|x$)", "'^a$' ($|x$)"],
])('a template of the exporter with the variables %j', (text, expected) => {
  expect(expandEnv(text, { A: 'one', 'a{b': 'two' })).toBe(expected);
});

test('what Go cannot compile, and the program takes for "no match", is refused', () => {
  for (const pattern of ['^(?!Node)PacketDrop$', '(?<=x)PacketDrop', String.raw`(.)\1`])
    expect(() => routeOf(shipped.replace('^PacketDrop$', () => pattern))).toThrow('not in the syntax of Go');
  expect(receiversOf(routeOf(shipped.replace('^PacketDrop$', () => '^(?:Packet)(?i:drop)$')), drop)).toEqual(['slack']);
});

test('an Event of the newer API, which has no count, counts nothing', () => {
  const { count: _, ...event } = drop;
  expect(receiversOf(routeOf(shipped), event)).toEqual(['slack']);
  const minimum = shipped.replace("reason: '^PacketDrop$'", (line) => `${line}\n              minCount: 1`);
  expect(receiversOf(routeOf(minimum), drop)).toEqual(['slack']);
  expect(receiversOf(routeOf(minimum), event)).toEqual([]);
});

test('rules: teams by namespace, which asks the API server nothing', () => {
  const [line] = /^# {3}(namespace: '\^\(payments\|checkout\)\$')$/m.exec(shipped)?.slice(1) ?? [];
  expect(line).toBeDefined();
  const teams = (name: string) =>
    routeOf(
      shipped.replace(
        /^( +)reason: '\^PacketDrop\$'$/m,
        (other, indent) => `${other}\n${indent}${line?.replace('payments', name)}`,
      ),
    );
  expect(receiversOf(teams('shop'), drop)).toEqual(['slack']);
  expect(receiversOf(teams('other'), drop)).toEqual([]);
  expect(receiversOf(teams('other'), node)).toEqual(['slack']);
});

test.each([
  ['{{.Reason}} {{ .Source.Component }}', 'XtablesLockHeld kube-netfilter-tailer'],
  ['{{ with .InvolvedObject.Namespace }}{{ . }}/{{ end }}{{ .InvolvedObject.Name }}', 'node-a'],
  ['{{ .InvolvedObject.APIVersion | replace "v" "<" | replace "<" ">" }}', '>1'],
])('templates: %s', (template, expected) => {
  expect(render(template, node)).toBe(expected);
});

test.each(['{{ .Reson }}', '{{ with .Nope }}a{{ end }}', '{{ := .Reason }}', '{{ . }}', '{{ .Count }}'])(
  'templates: %s: nothing would be sent, or something that this does not know',
  (template) => {
    expect(() => render(template, node)).toThrow(/this (?:can )?render/);
  },
);

test('what stands between the parts of a template is looked at also where it is not shown', () => {
  const template = '{{ with .InvolvedObject.Namespace }}{{ else }}none{{ end }}';
  expect(() => render(template, node)).toThrow('{{ else }}');
});

function eventOf(sample: string, object: string): CoreEvent {
  const event = eventsOfSample(sample).find(({ involvedObject }) => involvedObject.name === object);
  if (event === undefined) throw new Error(`${sample} has no Event on ${object}`);
  return event;
}
