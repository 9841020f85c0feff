import { ProtobufLogsSerializer } from '@opentelemetry/otlp-transformer';
import type { ReadableLogRecord } from '@opentelemetry/sdk-logs';
import type { FlowRecord } from '../fields.ts';

/** These fields have their own place in a record or in the Resource. Some receivers refuse fields that occur twice. */
const elsewhere = new Set<string>(['@timestamp', 'event.name', 'event.id', 'k8s.cluster.name', 'k8s.node.name']);

const scope = { name: 'kube-netfilter-tailer' };

/** SEVERITY_NUMBER_INFO, because most drops are intended by a policy. */
const info = 9;

export function createOtlpRequest(rows: readonly string[], resource: Readonly<Record<string, string>>): Uint8Array {
  // The serializer reads nothing else of a Resource.
  const shared = { attributes: resource } as ReadableLogRecord['resource'];
  const records = rows.map((row) => logRecordOf(JSON.parse(row) as FlowRecord, shared));
  const bytes = ProtobufLogsSerializer.serializeRequest(records);
  if (bytes === undefined) throw new Error('the flow records cannot be written as protobuf');
  return bytes;
}

export function readOtlpAnswer(answer: Uint8Array): { rejected: number } {
  try {
    const { partialSuccess } = ProtobufLogsSerializer.deserializeResponse(answer);
    return { rejected: partialSuccess?.rejectedLogRecords ?? 0 };
  } catch {
    return { rejected: 0 };
  }
}

function logRecordOf(record: FlowRecord, resource: ReadableLogRecord['resource']): ReadableLogRecord {
  const time = Date.parse(record['@timestamp'] ?? '');
  const hrTime: [number, number] = [Math.floor(time / 1000), (time % 1000) * 1_000_000];
  const attributes = Object.fromEntries(Object.entries(record).filter(([name]) => !elsewhere.has(name)));
  return {
    hrTime,
    hrTimeObserved: hrTime,
    severityNumber: info,
    severityText: 'INFO',
    body: bodyOf(record),
    ...(record['event.name'] !== undefined && { eventName: record['event.name'] }),
    resource,
    instrumentationScope: scope,
    attributes: { 'log.record.uid': record['event.id'], ...attributes },
    droppedAttributesCount: 0,
  };
}

/** Sums up a record for a person: `dropped batch/worker → shop/postgres:5432`. */
function bodyOf(record: FlowRecord): string {
  if (record['event.name'] === 'network.flow.gap') return `records of the log are missing: ${record['event.reason']}`;
  return `${record['event.action']} ${endOf(record, 'source')} → ${endOf(record, 'destination')}`;
}

function endOf(record: FlowRecord, end: 'source' | 'destination'): string {
  const name = record[`${end}.k8s.owner.name`];
  const namespace = record[`${end}.k8s.namespace.name`];
  const port = record[`${end}.port`];
  const who =
    name === undefined
      ? (record[`${end}.address`] ?? record[`${end}.kind`] ?? '')
      : [namespace, name].filter(Boolean).join('/');
  return port === undefined ? who : `${who}:${port}`;
}
