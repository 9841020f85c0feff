import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { rowText } from '../../../../src/publish/audit/record.ts';
import { createSink } from '../../../../src/publish/audit/audit.ts';
import type { Config } from '../../../../src/agent/config/config.ts';
import { temporaryFolder } from '../../../read/sources/temporary-folder.ts';
import { receiver } from './receiver.ts';

const never = new AbortController().signal;
const path = temporaryFolder();

/** Returns the request that a receiver gets for one row with these settings. */
async function received(settings: Partial<Config>) {
  const { url, requests } = await receiver([(response) => void response.end()]);
  const sink = createSink({ kind: 'otlp', url }, { node: 'node-a', ...settings } as Config);
  await sink.send([rowText({ 'event.id': 'id-1' })], never);
  await sink.close();
  return requests[0];
}

test.each([
  ['stdout', { kind: 'stdout' }],
  ['file', { kind: 'file', path: path('audit.ndjson') }],
  ['otlp', { kind: 'otlp', url: 'http://127.0.0.1:1' }],
] as const)('a sink of the kind %s has that name', async (name, settings) => {
  const sink = createSink(settings, { auditFileSize: 1, auditFileTotal: 10 } as Config);
  expect(sink.name).toBe(name);
  await sink.close();
});

test('a receiver learns the sender, its node and its cluster, with the headers of the file', async () => {
  writeFileSync(path('headers'), 'authorization: Bearer token\n\n  x-tenant:  shop: web  \n');
  const got = await received({ cluster: 'prod', auditOtlpHeaders: path('headers') });
  expect(got?.headers).toMatchObject({ authorization: 'Bearer token', 'x-tenant': 'shop: web' });
  for (const text of ['service.name', 'kube-netfilter-tailer', 'node-a', 'k8s.cluster.name', 'prod'])
    expect(got?.body).toContain(text);
});

test('without a cluster and headers, none are sent', async () => {
  const got = await received({});
  expect(got?.headers).not.toHaveProperty('authorization');
  expect(got?.body).not.toContain('k8s.cluster.name');
});

test.each(['a token', 'authorization:', ': token', 'two words: token'])(
  "a file of headers with the line %j is refused, naming only the line's number",
  async (line) => {
    writeFileSync(path('headers'), `a: b\n${line}\n`);
    const error = await received({ auditOtlpHeaders: path('headers') }).catch(String);
    expect(error).toContain(`${path('headers')}: line 2 `);
    expect(error).not.toContain('token');
  },
);
