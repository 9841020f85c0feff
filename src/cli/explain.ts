import { documentAt } from '../agent/config/docs-url.ts';
import type { ReplayOptions } from './options/replay-options.ts';
import { readSaved } from './replay/policies.ts';
import { causeOf, signOf } from '../explain/incidents/incidents.ts';
import { createDecisions, type Decision, type Decisions, type FlowMeaning } from '../count/pipeline/pipeline.ts';
import type { Endpoint } from '../base/model/endpoint.ts';
import type { Finding } from '../base/model/finding.ts';
import type { LogLine, Millis } from '../base/model/log-line.ts';
import type { Series } from '../base/model/series.ts';
import type { Martian } from '../base/model/observation.ts';
import type { Packet, PacketObservation } from '../base/model/packet.ts';
import type { ProgramRecord, Sign } from '../base/model/program-record.ts';
import { createPrefixTable, decodeBytes, knownTexts, unreadTextIn } from '../read/parsing/parsing.ts';
import { printable } from '../base/platform/printable.ts';
import { cell, type Streams } from './terminal.ts';
import { flagNames } from '../publish/audit/audit.ts';
import { alignColumns } from './describe.ts';
import { type EventText } from '../publish/events/events.ts';
import { createEndpointFinder } from '../explain/resolving/resolving.ts';
import { createSeriesTable } from '../count/series/series.ts';
import { createClock, type Envelope, readText } from '../read/sources/reading.ts';
import { readContainerRecord } from '../base/log-formats/container-log.ts';

type Row = [step: string, found: string];

const anyOf = new Intl.ListFormat('en', { type: 'disjunction' });

/** The most bytes of a cell, which may have an Event's message and some text before it. */
const longestCell = 1536;

/** `replay --explain LINE`: prints what each stage makes of a line. Resolves to the exit status: 1 if saved objects cannot be used. */
export async function explainLine(
  line: string,
  options: ReplayOptions,
  streams: Pick<Streams, 'stdin' | 'out' | 'err'>,
): Promise<0 | 1> {
  const { out, err } = streams;
  const { snapshot, policies } = await readSaved(options, streams);
  for (const problem of snapshot.problems) err(`${printable(problem)}\n`);
  const { node, includeNoise } = options;
  const prefixes = createPrefixTable(options.prefixes);
  const endpoints = createEndpointFinder(snapshot.objects);
  const hasObjects = options.pods.length > 0;
  const decisions = {
    ...createDecisions({ prefixes, endpoints, node, includeNoise, programsAnywhere: true }),
    messageOf: policies.messageOf,
    hasObjects,
  };
  const texts = explain(line, options, decisions).map((rows) =>
    alignColumns(rows.map((row) => row.map((text) => cell(text, longestCell)))).join('\n'),
  );
  if (texts.length > 0) out(`${texts.join('\n\n')}\n`);
  return snapshot.problems.length > 0 ? 1 : 0;
}

interface LineExplainer extends Decisions {
  messageOf: (series: Series) => EventText;
  /** Whether any object of the cluster is known. */
  hasObjects: boolean;
}

/** Returns the rows of each line that the text contains, and of each record of several lines. JSON may have several. */
function explain(text: string, { now, bootTime, zone }: ReplayOptions, decisions: LineExplainer): Row[][] {
  const latest = now ?? Date.now();
  // The parsers expect one character for each byte, as in a file, but a command line is Unicode.
  const bytes = Buffer.from(text).toString('latin1');
  const records = readText(bytes, createClock({ latest, boot: bootTime, zone }), knownTexts);
  return records.map(({ envelope, whole }) => explainEnvelope(envelope, whole, latest, decisions));
}

function explainEnvelope(envelope: Envelope, bytes: string, latest: Millis, decisions: LineExplainer): Row[] {
  const { text, time = latest, host, program, origin, container } = envelope;
  const timeIsExact = envelope.time !== undefined && envelope.timeIsExact;
  const read: LogLine = { source: '-', line: 1, text, time, timeIsExact, host, program, container };
  let decision = decisions.decide(read, origin);
  const isWithinJson = envelope.layers.some((layer) => layer.endsWith('JSON'));
  if (origin !== 'kernel' && (decision === undefined || decision.kind === 'refused') && !isWithinJson) {
    // A record of felix begins with a time, which looks like an envelope but belongs to the record.
    const whole = { ...read, text: readContainerRecord(bytes)?.text ?? bytes, program: undefined };
    decision = decisions.decide(whole, 'program') ?? decision;
  }
  const message = decodeBytes(text);
  const stamp = `${new Date(time).toISOString()}${timeIsExact ? '' : ' (inferred)'}`;
  return [
    ['envelope', envelope.layers.join(', ') || 'none'],
    ['time', envelope.time === undefined ? 'none in the line' : stamp],
    ['host', host ?? 'none in the line'],
    ['written by', container?.container ?? program ?? origin],
    ['message', message.length > 300 ? `${message.slice(0, 300)}…` : message],
    ...decisionRows(decision, read, decisions),
  ];
}

function decisionRows(decision: Decision | undefined, line: LogLine, explainer: LineExplainer): Row[] {
  const { meaningOf } = explainer;
  switch (decision?.kind) {
    case undefined: {
      const unread = unreadTextIn(line.text);
      const row: Row = ['format', 'none of the known ones: the line is skipped'];
      return unread === undefined ? [row] : [row, ['not read', `it has ${unread.name}: ${unread.advice}`]];
    }
    case 'refused':
      return [
        [
          'format',
          `refused: a line of ${decision.format}, which is believed only from ${anyOf.format(decision.writers)}; this one names another writer (${documentAt('docs/formats.md#who-is-believed')})`,
        ],
      ];
    case 'drop': {
      const { observation, meaning, isIgnored } = decision;
      const event: Row[] = isIgnored
        ? [['Event', `none: ${meaning.noise} is chatter of the link (--include-noise)`]]
        : eventRows(meaning.findings, line.time, explainer);
      return [...lossRows(observation, meaning, explainer), ...event];
    }
    case 'no-drop': {
      const { observation } = decision;
      const event: Row = ['Event', `none: the packet was ${observation.verdict}, as far as the prefix tells`];
      return [...lossRows(observation, meaningOf(line, observation), explainer), event];
    }
    case 'twin':
      return [...rowsOf(decision.observation), ['Event', 'none: another line of the same packet was counted']];
    case 'part': {
      const { logger, part } = decision.observation;
      if (typeof part !== 'string') return [...packetRows(part), ['Event', 'none: the verdict is in a later line']];
      return [
        ['format', logger],
        ['verdict', part],
        ['Event', 'none: the packet is in an earlier line'],
      ];
    }
    case 'failure': {
      const { pod, connection } = decision.observation;
      const rows = lossRows(connection, meaningOf(line, connection), explainer);
      return [...rows, ['opened by', `the Pod with the uid ${pod}`], ['Event', 'only if policies deny the connection']];
    }
    case 'unparsable': {
      const { format, reason } = decision.observation;
      return [nodeRow(decision), ['format', format], ['problem', reason], ['Event', 'none']];
    }
    case 'gap':
      return [nodeRow(decision), ['format', 'suppressed'], ['says', JSON.stringify(decision.observation)]];
    case 'incident': {
      const { observation } = decision;
      const isRecord = observation.kind === 'program-record';
      const rows = isRecord ? recordRows(observation) : [['format', observation.kind] satisfies Row];
      return [nodeRow(decision), ...rows, ...signRows(signOf(observation))];
    }
    default:
      return decision satisfies never;
  }
}

function nodeRow({ node }: { node: string }): Row {
  return ['node', node || 'unknown (--node names it)'];
}

function lossRows(
  observation: PacketObservation | Martian,
  meaning: FlowMeaning,
  { hasObjects }: LineExplainer,
): Row[] {
  const endText = hasObjects ? knownEnd : bareEnd;
  const { source, destination, inner } = meaning.ends;
  const rows: Row[] = [
    nodeRow(meaning),
    ...rowsOf(observation),
    ['source', endText(source)],
    ['destination', endText(destination)],
  ];
  if (inner)
    return [...rows, ['inner source', endText(inner.source)], ['inner destination', endText(inner.destination)]];
  if (observation.kind === 'packet' && observation.inner)
    return [...rows, ['inner ends', 'not believed: the error does not go back to its source']];
  return rows;
}

function rowsOf(observation: PacketObservation | Martian): Row[] {
  return observation.kind === 'packet' ? packetRows(observation) : [['format', 'martian']];
}

function recordRows({ program, caller, severity, message, error }: ProgramRecord): Row[] {
  const rows: Row[] = [
    ['format', `record of ${program}${caller === '' ? '' : ` (${caller})`}`],
    ['severity', severity],
    ['says', decodeBytes(message)],
  ];
  return error === '' ? rows : [...rows, ['error', decodeBytes(error).replaceAll('\n', ' | ').slice(0, 300)]];
}

function signRows(sign: Sign | undefined): Row[] {
  if (sign === undefined) return [['Event', 'none: it tells neither of a failure nor of a success']];
  if (sign.kind !== 'failure') {
    const failed = sign.kind === 'sync-failed';
    return [
      [
        'sign',
        failed
          ? 'an attempt to sync has failed; the record before it says why'
          : 'an attempt to sync has ended; good news unless it had failed',
      ],
    ];
  }
  const { code, subject, quote } = sign;
  return [
    ['sign', `${code}: ${causeOf(code).title}`],
    ...(subject === undefined ? [] : [['about', subject] satisfies Row]),
    ['quote', quote],
    [
      'Event',
      `none for one line: ${causeOf(code).reason} when it happens again (${documentAt(`docs/causes/${code}-${causeOf(code).name}.md`)})`,
    ],
  ];
}

function packetRows(observation: PacketObservation): Row[] {
  const { logger, prefix, prefixRule, verdict, policy, dropReason, packet, inner, inInterface, outInterface } =
    observation;
  return [
    ['format', logger],
    ['prefix', prefix === '' ? 'none' : `"${prefix}"`],
    ['verdict', `${verdict} (rule: ${prefixRule})`],
    ...(policy
      ? [['policy', [policy.kind, policy.namespace, policy.name].filter(Boolean).join(' ')] satisfies Row]
      : []),
    ...(dropReason === undefined ? [] : [['reason', dropReason] satisfies Row]),
    ['interfaces', `in ${inInterface || '(this node)'}, out ${outInterface || '(this node)'}`],
    ['packet', packetText(packet)],
    ...(inner ? [['inner packet', packetText(inner)] satisfies Row] : []),
  ];
}

function packetText(packet: Packet): string {
  const shown = Object.entries({ ...packet, tcpFlags: flagNames(packet.tcpFlags) }).filter(
    ([, value]) => value !== undefined && value !== false && value !== '',
  );
  return shown.map(([key, value]) => `${key} ${value}`).join(', ');
}

/** Without saved objects nothing is known of the cluster. */
function bareEnd({ address }: Endpoint): string {
  return `${address} (--pods says whose address it is)`;
}

function knownEnd({ address, kind, evidence, object, workload, role, note }: Endpoint): string {
  const name = object
    ? `${object.kind} ${object.namespace === undefined ? '' : `${object.namespace}/`}${object.name}`
    : kind;
  const more = [workload && `${workload.kind} ${workload.name}`, role, note, evidence !== 'none' && `by ${evidence}`]
    .filter(Boolean)
    .join('; ');
  return `${address} is ${name}${more === '' ? '' : ` (${more})`}`;
}

function eventRows(findings: readonly Finding[], time: number, { messageOf, hasObjects }: LineExplainer): Row[] {
  if (findings.length === 0)
    return [['Event', hasObjects ? 'none: neither end is a known Pod' : 'none without --pods, which names the Pods']];
  const table = createSeriesTable();
  for (const finding of findings) table.count(finding, time);
  return table.due(Infinity).map((series): Row => {
    const { regarding, reason } = series.finding;
    return [
      'Event',
      `${reason} on ${regarding.kind} ${regarding.namespace}/${regarding.name}: ${messageOf(series).message}`,
    ];
  });
}
