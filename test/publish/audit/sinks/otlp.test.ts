import { expect, onTestFinished, test } from 'vitest';
import { type FlowRecord, schemaVersion } from '../../../../src/publish/audit/fields.ts';
import { rowText } from '../../../../src/publish/audit/record.ts';
import { createOtlpSink, type OtlpSinkOptions } from '../../../../src/publish/audit/sinks/otlp.ts';
import { type Answer, receiver } from './receiver.ts';

const never = new AbortController().signal;

/** A sink that sends to a receiver with these answers. */
async function scene(answers: Answer[], given: Partial<OtlpSinkOptions> = {}) {
  const { url, requests } = await receiver(answers);
  const resource = { 'k8s.node.name': 'node-a' };
  const sink = createOtlpSink({ url, headers: () => ({}), ca: undefined, resource, ...given });
  onTestFinished(() => sink.close());
  return { sink, requests };
}

const status =
  (code: number, body = ''): Answer =>
  (response) =>
    void response.writeHead(code).end(body);

const record: FlowRecord = {
  '@timestamp': '2026-11-21T09:01:00.000Z',
  'schema.version': schemaVersion,
  'event.id': 'id-1',
  'event.name': 'network.flow.drop',
  'event.action': 'dropped',
  'k8s.node.name': 'node-a',
  'network.packets': 3,
  'source.address': '203.0.113.9',
  'destination.k8s.namespace.name': 'shop',
  'destination.k8s.owner.name': 'web',
  'destination.port': 80,
};
const rows = (count: number): string[] => Array.from({ length: count }, () => rowText(record));

test('a record is sent with its id, name, body and attributes, and facts of the Resource appear only there', async () => {
  const { sink, requests } = await scene([status(200)], { headers: () => ({ authorization: 'Bearer token' }) });
  expect(await sink.send(rows(1), never)).toBe(0);
  const [{ headers, path, body } = { headers: {}, path: '', body: '' }] = requests;
  expect(path).toBe('/v1/logs');
  expect(headers).toMatchObject({ 'content-type': 'application/x-protobuf', authorization: 'Bearer token' });
  for (const text of ['network.flow.drop', 'log.record.uid', 'id-1', 'destination.k8s.owner.name'])
    expect(body).toContain(text);
  expect(Buffer.from(body, 'latin1').toString()).toContain('dropped 203.0.113.9 → shop/web:80');
  expect(body.split('node-a')).toHaveLength(2);
});

test('a record has its time in nanoseconds, both as event and as observation time', async () => {
  const { sink, requests } = await scene([status(200)]);
  await sink.send([rowText({ ...record, '@timestamp': '2026-11-21T09:01:00.250Z' })], never);
  const nanoseconds = Buffer.alloc(8);
  nanoseconds.writeBigUInt64LE(BigInt(Date.UTC(2026, 10, 21, 9, 1, 0, 250)) * 1_000_000n);
  // Fields 1 and 11 of a LogRecord, both fixed64.
  for (const tag of [0x09, 0x59])
    expect(requests[0]?.body).toContain(Buffer.of(tag, ...nanoseconds).toString('latin1'));
});

test.each<[string, Answer, number]>([
  ['that takes all refuses none', status(200), 0],
  // ExportLogsServiceResponse { partial_success { rejected_log_records: 2 } }
  ['of a partial success says how many were refused', status(200, '\x0a\x02\x08\x02'), 2],
  ['that says more were refused than were sent counts those that were sent', status(200, '\x0a\x02\x08\x7f'), 4],
  ['that is no protobuf refuses none', status(200, '{"partialSuccess":'), 0],
  ['400 refuses all for good', status(400), 4],
  ['422 refuses all for good', status(422), 4],
])('answers: %s', async (_, answer, refused) => {
  const { sink, requests } = await scene([answer]);
  expect(await sink.send(rows(4), never)).toBe(refused);
  expect(requests).toHaveLength(1);
});

test('the error has the time for which a busy receiver asks to wait', async () => {
  const { sink } = await scene([(response) => void response.writeHead(429, { 'retry-after': '120' }).end()]);
  await expect(sink.send(rows(1), never)).rejects.toMatchObject({ retryAfter: 120_000 });
});

test.each([304, 401, 404, 429, 500, 503])('the answer %i makes the batch be sent again', async (code) => {
  const { sink } = await scene([status(code)]);
  await expect(sink.send(rows(4), never)).rejects.toThrow(String(code));
});

test('413 makes the batch be sent in halves', async () => {
  const { sink, requests } = await scene([status(413), status(200)]);
  expect(await sink.send(rows(5), never)).toBe(0);
  expect(requests.map(({ body }) => body.split('id-1').length - 1)).toEqual([5, 3, 2]);
});

test('413 for a single record refuses it for good', async () => {
  const { sink, requests } = await scene([status(413)]);
  expect(await sink.send(rows(2), never)).toBe(2);
  expect(requests).toHaveLength(3);
});

test('an answer is read up to 64 KiB', async () => {
  const { sink } = await scene([status(200, 'x'.repeat(1_000_000))]);
  await expect(sink.send(rows(1), never)).rejects.toBeInstanceOf(Error);
});

test.each<[string, Answer]>([
  ['that never comes', () => {}],
  ['that never ends', (response) => void response.writeHead(200).write('x')],
  ['that is cut off', (response) => void response.destroy()],
])('an answer %s makes the batch be sent again', async (_, answer) => {
  const { sink } = await scene([answer], { timeout: 100 });
  await expect(sink.send(rows(1), never)).rejects.toBeInstanceOf(Error);
});
