import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { fromJSON } from '@grpc/proto-loader';

/** One LogRecord: its attributes by their names, and `EventName`. */
export type Received = Readonly<Record<string, string | number | boolean>>;

export type OtlpReceiver = Awaited<ReturnType<typeof startOtlpReceiver>>;

/**
 * A receiver of OTLP over HTTP that can fail as a receiver in a data centre does. Another test compares what it reads
 * with a real receiver.
 */
export async function startOtlpReceiver() {
  /** Every record that was acknowledged, in the order of arrival. */
  const records: Received[] = [];
  let answer = take;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const received = readRequest(gunzipSync(Buffer.concat(chunks)));
      if (answer(response) === 'taken') records.push(...received);
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    records,
    /** Sets how the next requests are answered. A request that is not acknowledged is read nevertheless. */
    answerWith: (given: typeof take) => (answer = given),
    async stop(): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

export function take(response: ServerResponse): 'taken' | 'refused' {
  response.writeHead(200).end();
  return 'taken';
}

const field = (id: number, type: string) => ({ type, id });
const repeated = (id: number, type: string) => ({ type, id, rule: 'repeated' });

/** The part of opentelemetry-proto 1.x that is read. */
const { Logs } = fromJSON(
  {
    nested: {
      Logs: { methods: { Export: { requestType: 'Request', responseType: 'Request', comment: '' } } },
      Request: { fields: { resourceLogs: repeated(1, 'ResourceLogs') } },
      ResourceLogs: { fields: { scopeLogs: repeated(2, 'ScopeLogs') } },
      ScopeLogs: { fields: { logRecords: repeated(2, 'LogRecord') } },
      LogRecord: { fields: { attributes: repeated(6, 'KeyValue'), eventName: field(12, 'string') } },
      KeyValue: { fields: { key: field(1, 'string'), value: field(2, 'AnyValue') } },
      AnyValue: { fields: { text: field(1, 'string'), truth: field(2, 'bool'), number: field(3, 'int64') } },
    },
  },
  { longs: Number },
) as unknown as { Logs: { Export: { requestDeserialize: (bytes: Buffer) => LogsRequest } } };

interface LogsRequest {
  resourceLogs: { scopeLogs: { logRecords: LogRecord[] }[] }[];
}

interface LogRecord {
  attributes: { key: string; value: Received }[];
  eventName: string;
}

function readRequest(request: Buffer): Received[] {
  const { resourceLogs } = Logs.Export.requestDeserialize(request);
  return resourceLogs
    .flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords))
    .map(({ attributes, eventName }) =>
      Object.fromEntries([
        ...attributes.map(({ key, value }) => [key, Object.values(value)[0] ?? ''] as const),
        ['EventName', eventName],
      ]),
    );
}
