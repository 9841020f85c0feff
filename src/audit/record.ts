import { hash } from 'node:crypto';
import type { PolicyFacts } from '../drops/drops.ts';
import type { LogLine, Millis } from '../model/log-line.ts';
import { printableJson } from '../platform/printable.ts';
import { type FlowRecord, schemaVersion } from './fields.ts';
import { type AuditedPacket, packetFields } from './flow.ts';
import { policyFields } from './policy-fields.ts';

/** One line of NDJSON, printable, in the order of the fields given. */
export function rowOf(record: FlowRecord): string {
  return `${printableJson(JSON.stringify(record))}\n`;
}

/** The first fields of every record. `identity`: equal only for the same record. */
export function headOf(at: Millis, name: FlowRecord['event.name'], identity: readonly unknown[]): FlowRecord {
  return {
    '@timestamp': stampOf(at),
    'schema.version': schemaVersion,
    'event.id': hash('sha256', JSON.stringify(identity)).slice(0, 24),
    'event.name': name,
  };
}

export function stampOf(time: Millis): string {
  return new Date(time).toISOString();
}

export interface RowContext {
  cluster?: string;
  policies?: PolicyFacts | undefined;
  /** Removes what no row may say; undefined: nothing. */
  redact?: ((fields: FlowRecord) => FlowRecord) | undefined;
}

/** One line of NDJSON for one packet (`replay --output audit`). */
export function packetRow(line: LogLine, packet: AuditedPacket, context: RowContext = {}): string {
  const { cluster, policies, redact = (same: FlowRecord) => same } = context;
  const { observation, node } = packet;
  const fields = packetFields(line, packet);
  const time = stampOf(line.time);
  return rowOf(
    redact({
      ...headOf(line.time, fields['event.name'], [cluster, node, line.source, line.line, line.time]),
      'event.start': time,
      'event.end': time,
      'k8s.cluster.name': cluster,
      'network.packets': observation.kind === 'packet' ? observation.repeat : 1,
      ...fields,
      ...(policies && policyFields(policies, 'evaluated')),
    }),
  );
}
