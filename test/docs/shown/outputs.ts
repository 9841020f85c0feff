import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { dropRowOf } from '../../../src/cli/drops/drop-row.ts';
import { createTable } from '../../../src/cli/drops/drops-table.ts';
import { joinRows } from '../../../src/cli/drops/joined-rows.ts';
import { checks } from '../../../src/cli/doctor/doctor.ts';
import { type Check, textReport } from '../../../src/cli/doctor/report.ts';
import { topFlowOf } from '../../../src/cli/top/flows.ts';
import { createRates } from '../../../src/cli/top/rows.ts';
import { viewLines } from '../../../src/cli/top/view.ts';
import type { CoreEvent } from '../../../src/publish/events/event.ts';
import type { Facts } from '../../../src/cli/doctor/facts.ts';
import { nine } from '../../builders.ts';
import { createLogger } from '../../../src/agent/telemetry/logger.ts';
import { createProblemsScene } from '../../agent/problems-scene.ts';
import { configOf, found, logOf, packet, rulesOf, sourceWith } from '../../cli/doctor/scene.ts';
import { readConfig } from '../../agent/config/reading.ts';
import { readExporterConfig } from '../../monitoring/exporter/exporter-config.ts';
import { render } from '../../monitoring/exporter/go-template.ts';
import { alerts } from '../../monitoring/files.ts';
import { eventsOfSample } from '../../monitoring/sample-events.ts';
import { flow } from '../../cli/top/flows.ts';
import { root, textOf } from '../documents.ts';
import type { ShownBlock } from './marks.ts';
import { runOnSamples } from './on-samples.ts';

/** Makes the outputs of a page, from its own commands or from the parts that print them. */
type OutputMaker = (shown: ShownBlock) => readonly string[] | Promise<readonly string[]>;

const plain = (_: string, text: string): string => text;

/** By the name in the mark over the block. */
export const outputs: Readonly<Record<string, OutputMaker>> = {
  'log-line': () =>
    linesOf('policy-deny', / DPT=5432 /)
      .slice(0, 1)
      .map((line) =>
        line
          .replace(/MAC=\S+/, 'MAC=…')
          .replace(/TOS=.*? (?=PROTO)/, '… ')
          .replace(/WINDOW=.*? (?=SYN)/, '… ')
          .trimEnd(),
      ),
  'config-check': () =>
    runOnSamples(
      'MAX_NODES=many kube-netfilter-tailer run --node node-a --config settings.yaml 2>&1 | grep -v ^Try',
      {},
      { 'settings.yaml': 'statDir: /state\n' },
    ),
  'doctor-problem': () => onlyShown(doctorLines(), /^ok +(?:settings|api-server)|log-rules|→ put|prefix|problem,/),
  'doctor-lookups': () => lineOf('pod-lookups', { ways: waysOfCalico }),
  'enable-logging': () => onlyShown(firstRecipe(), /^On Linux|^Calico 3|^Nothing/),
  'incident-of-felix': async ({ commands }) => untilEmpty(await runOnSamples(commands)),
  'connect-failure': () => [eventsOfSample('connect-failures')[0]?.message ?? ''],
  'drops-list': () => {
    const events = ['policy-deny', 'egress-denied'].flatMap(eventsOfSample).filter(isOfShop).toSorted(byTime);
    const table = createTable(false, plain);
    const soon = Date.parse(events.at(-1)?.lastTimestamp ?? '') + 8000;
    const rows = joinRows(events.map(dropRowOf));
    return (table.title(rows, soon) + table.lines(rows, soon)).trimEnd().split('\n');
  },
  'drops-top': () => topLines(),
  'evaluating-packet': () =>
    linesOf('kube-network-policies', / /)
      .map((line) => line.replace(/^\S+ stderr F /, ''))
      .slice(5, 11)
      .filter((line) => !/engine\.go|networkpolicy\.go/.test(line)),
  'own-log': () => ownLogLine(),
  'event-martian': () => [messageOn('martian', 'web-6c8d5f7b94-8wzqd')],
  'event-conntrack': () => [`${expectedLine('KN404', 'what (as it is read): ')} … [KN404]`],
  'event-of-flows': () => [messageOn('calico-flows', 'postgres-0')],
  'slack-drop': () => [slackText('policy-deny', 'postgres-0')],
  'slack-incident': () => [slackText('kube-proxy-lw8zd-lock', 'node-a')],
  'alertmanager-incident': () => alertLines('KubeNetfilterTailerIncidentSerious', 'KN102', ['node-a', 'node-b']),
  why: ({ commands }) => runOnSamples(commands),
  'why-event': async ({ commands }) => {
    const printed = await runOnSamples(`${commands.trim().replace('/var/log/', '')} --pod postgres-0`, policyDeny);
    return [/Packet dropped.*$/m.exec(printed.join('\n'))?.[0] ?? ''];
  },
  suggest: ({ commands }) => runOnSamples(commands),
  'suggest-audit': async ({ commands }) =>
    (await runOnSamples(`kubectl > cluster.yaml\n${commands}`, policyDeny)).filter((line) =>
      /^# (?:of|not)|^# {3}/.test(line),
    ),
};

const policyDeny = { 'kern.log': 'policy-deny' };

/** The log line about a watch to which the API server no longer answers. */
async function ownLogLine(): Promise<string[]> {
  const lines: string[] = [];
  const { problems, entries } = createProblemsScene();
  problems.api.watchFailed('pods', { verb: 'watch', refusal: undefined, silent: true });
  const log = await createLogger({ level: 'info', terminal: false, node: 'node-a', write: (line) => lines.push(line) });
  for (const { level, fields, text } of entries) log[level](fields, text);
  return lines.map((line) => line.trimEnd().replace(/"time":"[^"]*"/, '"time":"2026-11-21T09:00:00.000Z"'));
}

function linesOf(sample: string, pattern: RegExp): string[] {
  return textOf(`samples/${sample}.log`)
    .split('\n')
    .filter((line) => pattern.test(line));
}

/** The lines that match; the others in between become one `…`. */
function onlyShown(lines: readonly string[], pattern: RegExp): string[] {
  const shown: string[] = [];
  for (const line of lines) {
    if (pattern.test(line) || line === '') shown.push(line);
    else if (shown.at(-1) !== '…') shown.push('…');
  }
  return shown;
}

function untilEmpty(lines: readonly string[]): readonly string[] {
  return lines.slice(0, lines.indexOf(''));
}

/** doctor's lines about a node that no longer logs drops. */
function doctorLines(): string[] {
  const kernelSources = sourceWith(logOf({ packets: [packet('calico-drop:', 2000)] }), {
    name: 'file:/var/log/kern.log',
    text: '/var/log/kern.log',
  });
  const rules = rulesOf({ nft: { rules: 1, hasClusterChains: false } });
  const config = configOf(readConfig({}, { NODE_NAME: 'node-a', SOURCES: 'file:/var/log/kern.log' }));
  const all = checks.flatMap(({ name }): Check[] => found(name, { config, kernelSources, rules }));
  const report = { version: '', node: 'node-a', time: nine, checks: all };
  return textReport(report, plain).trimEnd().split('\n');
}

function lineOf(name: string, facts: Partial<Facts>): string[] {
  return textReport({ version: '', node: '', time: nine, checks: found(name, facts) }, plain)
    .split('\n')
    .slice(0, 1);
}

const waysOfCalico: Facts['ways'] = [
  { way: 'calico-block', usable: true, why: '2 IPPools of Calico' },
  { way: 'pod-cidr', usable: false, why: 'the network plugin gives addresses of other ranges than podCIDR' },
  { way: 'field-selector', usable: true, why: 'at most 6.0 a minute with 340 Pods, 12 Nodes' },
];

/** The first recipe that test/cli/doctor/enable-logging.test.ts expects. */
function firstRecipe(): string[] {
  const lines = textOf('test/cli/doctor/enable-logging.expected.txt').split('\n');
  return lines.slice(0, lines.indexOf('Nothing was changed.') + 1);
}

const isOfShop = ({ involvedObject }: CoreEvent): boolean => involvedObject.namespace === 'shop';
const byTime = (a: CoreEvent, b: CoreEvent): number => Date.parse(a.lastTimestamp) - Date.parse(b.lastTimestamp);

function topLines(): string[] {
  const { take } = createRates();
  take(new Map([['node-b', liveFlows(0, 0)]]), 0);
  const rows = take(new Map([['node-b', liveFlows(36, 13)]]), 2000);
  const agents = { asked: 12, answered: 12 };
  const keys = { sort: 'rate', reversed: false, filter: '', isTyping: false, selected: 0 } as const;
  const view = { rows, agents, problem: undefined, scope: 'all namespaces', ...keys };
  return viewLines(view, { columns: 80, lines: 8 }, nine, plain).map((line) => line.trimEnd());
}

/** Flows of samples/cluster.json with these numbers of packets. */
function liveFlows(toPostgres: number, toOutside: number) {
  return [
    topFlowOf(
      flow({
        'destination.k8s.owner.kind': 'StatefulSet',
        'destination.k8s.owner.name': 'postgres',
        'policy.verdict': 'denied',
        'policy.decided_by': 'NetworkPolicy shop/postgres',
        'network.packets': toPostgres,
      }),
    ),
    topFlowOf(
      flow({
        'event.action': 'rejected',
        'source.k8s.namespace.name': 'shop',
        'source.k8s.owner.name': 'cart',
        'destination.k8s.namespace.name': undefined,
        'destination.k8s.pod.name': undefined,
        'destination.address': '203.0.113.80',
        'destination.port': 443,
        'network.packets': toOutside,
      }),
    ),
  ];
}

function eventOf(sample: string, object: string): CoreEvent {
  const event = eventsOfSample(sample).find(({ involvedObject }) => involvedObject.name === object);
  if (event === undefined) throw new Error(`the sample ${sample} has no Event on ${object}`);
  return event;
}

function messageOn(sample: string, object: string): string {
  return eventOf(sample, object).message;
}

/** A sentence of the catalogue, from the expected file of its causes. */
function expectedLine(code: string, begins: string): string {
  const text = textOf('test/explain/incidents/catalogue/causes.expected.txt');
  const lines = text.slice(text.indexOf(`\n${code} `)).split('\n');
  return lines.find((line) => line.startsWith(begins))?.slice(begins.length) ?? '';
}

function slackText(sample: string, object: string): string {
  const file = readFileSync(join(root, 'deploy/exporters/kubernetes-event-exporter.yaml'), 'utf8');
  const { receivers } = readExporterConfig(file, { SLACK_WEBHOOK_URL: 'https://hooks.example.org/' });
  return render(receivers[0]?.webhook.layout.text ?? '', eventOf(sample, object));
}

/** The title and text of deploy/exporters/alertmanager.yaml: a summary for each node, and the description of the first. */
function alertLines(name: string, code: string, nodes: readonly string[]): string[] {
  const alert = alerts.find((each) => each.alert === name);
  const filled = (text: string, node: string): string =>
    text.replaceAll('{{ $labels.code }}', code).replaceAll('{{ $labels.node }}', node);
  const { summary = '', description = '' } = alert?.annotations ?? {};
  const [first = ''] = nodes;
  return [`${name} ${code}`, ...nodes.map((node) => filled(summary, node)), filled(description, first).trim()];
}
