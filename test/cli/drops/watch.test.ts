/** Tests how `drops --watch` continues after faults of the API server. */
import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { drops } from '../../../src/cli/drops/drops.ts';
import { readDropsOptions } from '../../../src/cli/options/drops-options.ts';
import {
  type Asked,
  json,
  refuse,
  sendEvent,
  startScriptedServer,
  type ScriptedServer,
} from '../../agent/kubernetes/scripted-server.ts';
import { temporaryFolder } from '../../read/sources/temporary-folder.ts';
import { parsed } from '../parsed.ts';
import { kubeconfigFor } from '../scene.ts';

const path = temporaryFolder();
const plain = (_: string, text: string): string => text;
let server: ScriptedServer;
/** The server's reaction to each watch, in order. */
let watches: ((asked: Asked) => void)[];
/** The Events of each list, in order. */
let lists: object[][];

const event = (name: string): object => ({
  metadata: { namespace: 'shop', name, resourceVersion: '2' },
  involvedObject: { kind: 'Pod', namespace: 'shop', name: 'web-0' },
  reason: 'PacketDrop',
  message: '',
  lastTimestamp: '2026-11-21T10:00:00Z',
});

beforeEach(async () => {
  // Pauses between attempts have no length.
  vi.spyOn(Math, 'random').mockReturnValue(0);
  server = await startScriptedServer((asked) => {
    if (asked.query['watch'] === 'true') watches.shift()?.(asked);
    else json(asked.response, 200, { metadata: { resourceVersion: '1' }, items: lists.shift() ?? [] });
  });
  writeFileSync(path('kubeconfig'), kubeconfigFor(server.url));
});
afterEach(async () => {
  vi.restoreAllMocks();
  await server.stop();
});

/** Runs until the server refuses. */
async function watched(...args: string[]): Promise<{ status: number; out: string; err: string }> {
  const asked = parsed('kubectl drops', '-n', 'shop', '--watch', ...args, '--kubeconfig', path('kubeconfig'));
  let [out, err] = ['', ''];
  const streams = { out: (text: string) => void (out += text), err: (text: string) => void (err += text) };
  const status = await drops(readDropsOptions(asked), 'kubectl drops', streams, plain);
  return { status, out, err };
}

const forbid = ({ response }: Asked): void => refuse(response, 403, 'Forbidden');

test('a broken watch is reported once, and its recovery once', async () => {
  lists = [[event('a')]];
  watches = [
    ({ response }) => refuse(response, 503),
    ({ response }) => refuse(response, 500),
    ({ response }) => void (sendEvent(response, 'ADDED', event('b')), response.end()),
    forbid,
  ];
  const { status, err, out } = await watched('-o', 'name');
  expect({ status, out }).toEqual({ status: 1, out: 'event/a\nevent/b\n' });
  const lines = err.trimEnd().split('\n');
  expect(lines.map((line) => /refused with (\d+)$/.exec(line)?.[1])).toEqual(['503', undefined, '403']);
});

test('an Event that was deleted during a broken watch and is written again is shown again', async () => {
  lists = [[event('a')], []];
  watches = [
    ({ response }) => refuse(response, 410, 'Expired'),
    ({ response }) => void (sendEvent(response, 'ADDED', event('a')), response.end()),
    forbid,
  ];
  const { err, out } = await watched('-o', 'name');
  expect(out).toBe('event/a\nevent/a\n');
  expect(err).toBe('kubectl drops: refused with 403\n');
});
