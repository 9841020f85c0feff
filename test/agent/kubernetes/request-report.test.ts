import { expect, onTestFinished, test } from 'vitest';
import { createConnection, type RequestReport } from '../../../src/agent/kubernetes/connection.ts';
import { nine } from '../../builders.ts';
import { type Asked, json, refuse, startScriptedServer } from './scripted-server.ts';

const events = '/api/v1/namespaces/shop/events';
const event = { kind: 'Event', apiVersion: 'v1', metadata: { name: 'web.1' } };

test.each<[string, (asked: Asked) => void, string]>([
  ['that creates an object', ({ response }) => json(response, 201, event), 'POST events 201'],
  ['for an object that is there', ({ response }) => json(response, 200, event), 'POST events 200'],
  ['that is refused', ({ response }) => refuse(response, 409), 'POST events 409'],
  ['with a success that is no JSON', ({ response }) => void response.writeHead(200).end('<html>'), 'POST events 0'],
  ['with a refusal that is no JSON', ({ response }) => void response.writeHead(502).end('<html>'), 'POST events 502'],
  // A closed connection would be tried again.
  [
    'with a status that is no number',
    ({ response }) => void response.socket?.end('HTTP/1.1 OK\r\n\r\n'),
    'POST events 0',
  ],
])('a request %s is reported with its HTTP status, or 0 without a readable answer', async (_, answer, expected) => {
  const server = await startScriptedServer(answer);
  onTestFinished(() => server.stop());
  const reports: RequestReport[] = [];
  const { request } = createConnection({
    access: server.access(),
    userAgent: 'test',
    onRequest: (report) => reports.push(report),
    clock: { now: () => nine, wall: () => nine },
  });
  await request('POST', events, { body: {} });
  expect(reports.map(({ verb, resource, code }) => `${verb} ${resource} ${code}`)).toEqual([expected]);
});
