import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';

/** One LogRecord, by the names of its attributes; `EventName` beside them. */
export type Received = Readonly<Record<string, string | number | boolean>>;

/** A receiver of OTLP over HTTP that may fail as one in a data centre does; that it reads as a real one does is tested against that. */
export interface OtlpReceiver {
  readonly url: string;
  /** Every record that was acknowledged, in the order of arrival. */
  readonly records: readonly Received[];
  /** How the next requests are answered: what is read and not acknowledged was read all the same. */
  answerWith: (answer: (response: ServerResponse) => 'taken' | 'refused') => void;
  stop: () => Promise<void>;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
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
    answerWith: (given) => (answer = given),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

export function take(response: ServerResponse): 'taken' | 'refused' {
  response.writeHead(200).end();
  return 'taken';
}

/** ExportLogsServiceRequest.resource_logs = 1, ResourceLogs.scope_logs = 2, ScopeLogs.log_records = 2 (opentelemetry-proto 1.x). */
function readRequest(request: Buffer): Received[] {
  return messages(request, 1)
    .flatMap((resource) => messages(resource, 2))
    .flatMap((scope) => messages(scope, 2))
    .map(readRecord);
}

/** LogRecord.attributes = 6 of KeyValue { key = 1, value = 2 }, event_name = 12; AnyValue { string = 1, bool = 2, int = 3 }. */
function readRecord(record: Buffer): Received {
  const attributes = messages(record, 6).map((pair) => {
    const [key = Buffer.of()] = messages(pair, 1);
    const [value = Buffer.of()] = messages(pair, 2);
    const [{ field, number, bytes } = { field: 0, number: 0, bytes: Buffer.of() }] = [...fieldsOf(value)];
    return [key.toString(), field === 1 ? bytes.toString() : field === 2 ? number === 1 : number] as const;
  });
  const [name = Buffer.of()] = messages(record, 12);
  return { ...Object.fromEntries(attributes), EventName: name.toString() };
}

function messages(of: Buffer, wanted: number): Buffer[] {
  return [...fieldsOf(of)].filter(({ field }) => field === wanted).map(({ bytes }) => bytes);
}

/** The wire format of protobuf: a varint with number and type, then a varint, four or eight bytes, or a length and so many bytes. */
function* fieldsOf(buffer: Buffer): Generator<{ field: number; number: number; bytes: Buffer }> {
  for (let at = 0; at < buffer.length;) {
    const tag = varint();
    const type = tag % 8;
    let number = 0;
    let bytes: Buffer = Buffer.of();
    if (type === 0) number = varint();
    else {
      const length = type === 2 ? varint() : type === 1 ? 8 : 4;
      bytes = buffer.subarray(at, at + length);
      at += length;
    }
    yield { field: Math.floor(tag / 8), number, bytes };

    function varint(): number {
      let value = 0;
      for (let shift = 1; ; shift *= 128) {
        const byte = buffer[at++] ?? 0;
        value += (byte % 128) * shift;
        if (byte < 128) return value;
      }
    }
  }
}
