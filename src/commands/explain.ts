import type { ReplayOptions } from './options/replay-options.ts';
import { readSavedObjects } from './saved-objects.ts';
import { causeOf } from '../incidents/catalogue/catalogue.ts';
import { signOf } from '../incidents/catalogue/sign-of.ts';
import { explainMartian, explainPacket } from '../drops/findings.ts';
import { noiseOf } from '../drops/noise.ts';
import { messageOf } from '../pipeline/message.ts';
import type { Endpoint } from '../model/endpoint.ts';
import type { Finding } from '../model/finding.ts';
import type { Suppressed } from '../model/observation.ts';
import type { Packet, PacketObservation } from '../model/packet.ts';
import type { ProgramRecord, Sign } from '../model/program-record.ts';
import { parse } from '../parsing/formats.ts';
import { parseDroppedLogs } from '../parsing/components/dropped-logs.ts';
import { parseProgramRecord } from '../parsing/components/program-record.ts';
import { createPrefixTable, type PrefixTable } from '../parsing/netfilter/prefixes.ts';
import { printable } from '../platform/printable.ts';
import { flagNames } from '../audit/row.ts';
import { cutBytes } from '../events/event.ts';
import { alignColumns } from '../events/describe.ts';
import { createDirectory, type Directory } from '../resolving/directory.ts';
import { nodeOf, resolveMartian, resolvePacket } from '../resolving/resolver.ts';
import { createSeriesTable } from '../series/table.ts';
import { createClock } from '../sources/envelopes/clock.ts';
import { readRecord } from '../log-formats/cri.ts';
import { readEnvelope } from '../sources/envelopes/read-envelope.ts';
import type { Envelope } from '../sources/envelopes/envelope.ts';

type Row = [step: string, found: string];

const anyOf = new Intl.ListFormat('en', { type: 'disjunction' });

/** Of the table, in bytes: an Event's message and what stands before it. */
const longestCell = 1536;

/** `replay --explain LINE`: each stage's answer for one line. Returns the exit status. */
export function explainLine(
  line: string,
  options: ReplayOptions,
  { out, err }: { out: (text: string) => void; err: (text: string) => void },
): 0 | 1 {
  const snapshot = readSavedObjects(options.pods);
  for (const problem of snapshot.problems) err(`${printable(problem)}\n`);
  const directory = createDirectory(snapshot.objects);
  const prefixes = createPrefixTable(options.prefixes);
  const lines = line.split(/\r?\n/).filter((each) => each.trim() !== '');
  for (const [index, each] of lines.entries()) {
    const rows = explain(each, options, directory, prefixes).map((row) =>
      row.map((cell) => cutBytes(printable(cell), longestCell)),
    );
    out(`${index > 0 ? '\n' : ''}${alignColumns(rows).join('\n')}\n`);
  }
  return snapshot.problems.length > 0 ? 1 : 0;
}

function explain(line: string, options: ReplayOptions, directory: Directory, prefixes: PrefixTable): Row[] {
  const latest = options.now ?? Date.now();
  const clock = createClock({
    latest,
    boot: options.bootTime,
    zone: options.zone,
  });
  // Text from a command line is Unicode; from here on one character is one byte, as in a file.
  const envelope = readEnvelope(Buffer.from(line).toString('latin1'), clock);
  const time = envelope.time ?? latest;
  const at = { time, exact: envelope.time !== undefined && envelope.timeIsExact };
  const rows: Row[] = [
    ['envelope', envelope.layers.join(', ') || 'none'],
    [
      'time',
      envelope.time === undefined
        ? 'none in the line'
        : `${new Date(time).toISOString()}${at.exact ? '' : ' (inferred)'}`,
    ],
    ['host', envelope.host ?? 'none in the line'],
    ['written by', envelope.program ?? envelope.origin],
    ['message', envelope.text.length > 300 ? `${envelope.text.slice(0, 300)}…` : envelope.text],
  ];
  const packet = parse(envelope.text, prefixes, envelope.origin, envelope.program);
  const isMine = packet !== undefined && packet.kind !== 'refused';
  const observation = isMine || envelope.origin === 'kernel' ? packet : (recordIn(line, envelope) ?? packet);
  if (observation === undefined) return [...rows, ['format', 'none of the known ones: the line is passed over']];
  if (observation.kind === 'refused') {
    const { format, writers } = observation;
    return [
      ...rows,
      [
        'format',
        `refused: a line of ${format}, which is believed only from ${anyOf.format(writers)}; this one names another writer (docs/formats.md#who-is-believed)`,
      ],
    ];
  }
  const node = nodeOf(
    options.node ?? envelope.host,
    observation.kind === 'packet' ? observation : undefined,
    directory,
    at,
  );
  rows.push(['node', node || 'unknown (--node names it)']);
  switch (observation.kind) {
    case 'packet': {
      const ends = resolvePacket(observation, directory, at);
      rows.push(
        ...packetRows(observation),
        ['source', endText(ends.source)],
        ['destination', endText(ends.destination)],
      );
      if (ends.inner)
        rows.push(['inner source', endText(ends.inner.source)], ['inner destination', endText(ends.inner.destination)]);
      else if (observation.inner) rows.push(['inner ends', 'not believed: the error does not go back to its source']);
      if (observation.verdict !== 'dropped' && observation.verdict !== 'rejected')
        return [...rows, ['Event', `none: the packet was ${observation.verdict}, as far as the prefix tells`]];
      const noise = noiseOf(observation.packet, observation.destinationMac, ends);
      if (noise !== undefined && !options.includeNoise)
        return [...rows, ['Event', `none: ${noise} is chatter of the link (--include-noise)`]];
      return [...rows, ...eventRows(explainPacket(observation, ends, node), time)];
    }
    case 'martian': {
      const ends = resolveMartian(observation, directory, at);
      rows.push(['format', 'martian'], ['source', endText(ends.source)], ['destination', endText(ends.destination)]);
      return [...rows, ...eventRows(explainMartian(observation, ends, node), time)];
    }
    case 'unparsable':
      return [...rows, ['format', observation.format], ['problem', observation.reason], ['Event', 'none']];
    case 'program-record':
      return [...rows, ...recordRows(observation), ...signRows(signOf(observation))];
    case 'conntrack-full':
    case 'neighbour-overflow':
      return [...rows, ['format', observation.kind], ...signRows(signOf(observation))];
    case 'suppressed':
      return [...rows, ['format', observation.kind], ['says', JSON.stringify(observation)]];
    default:
      return observation satisfies never;
  }
}

/** The stamp of a record of felix looks like an envelope's: it is read with it, once the container runtime's is taken off. */
function recordIn(line: string, { text, program }: Envelope): ProgramRecord | Suppressed | undefined {
  return (
    parseDroppedLogs(text, program) ??
    parseProgramRecord(text, program) ??
    parseProgramRecord(readRecord(line)?.text ?? line)
  );
}

function recordRows({ program, caller, severity, message, error }: ProgramRecord): Row[] {
  const rows: Row[] = [
    ['format', `record of ${program}${caller === '' ? '' : ` (${caller})`}`],
    ['severity', severity],
    ['says', message],
  ];
  return error === '' ? rows : [...rows, ['error', error.replaceAll('\n', ' | ').slice(0, 300)]];
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
      `none for one line: ${causeOf(code).reason} when it happens again (docs/causes/${code}-${causeOf(code).name}.md)`,
    ],
  ];
}

function packetRows(observation: PacketObservation): Row[] {
  const { logger, prefix, prefixRule, verdict, policy, packet, inner, inInterface, outInterface } = observation;
  return [
    ['format', logger],
    ['prefix', prefix === '' ? 'none' : `"${prefix}"`],
    ['verdict', `${verdict} (rule: ${prefixRule})`],
    ...(policy
      ? [['policy', [policy.kind, policy.namespace, policy.name].filter(Boolean).join(' ')] satisfies Row]
      : []),
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

function endText({ address, kind, evidence, object, workload, role, note }: Endpoint): string {
  const name = object
    ? `${object.kind} ${object.namespace === undefined ? '' : `${object.namespace}/`}${object.name}`
    : kind;
  const more = [workload && `${workload.kind} ${workload.name}`, role, note, evidence !== 'none' && `by ${evidence}`]
    .filter(Boolean)
    .join('; ');
  return `${address} is ${name}${more === '' ? '' : ` (${more})`}`;
}

function eventRows(findings: Finding[], time: number): Row[] {
  if (findings.length === 0) return [['Event', 'none: neither end is a known Pod']];
  const table = createSeriesTable();
  for (const finding of findings) table.count(finding, time);
  return table.due(Infinity).map((series): Row => {
    const { regarding, reason } = series.finding;
    return ['Event', `${reason} on ${regarding.kind} ${regarding.namespace}/${regarding.name}: ${messageOf(series)}`];
  });
}
