import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { causes } from '../../src/explain/incidents/catalogue/catalogue.ts';
import { messageOf } from '../../src/count/pipeline/message.ts';
import { createPipeline } from '../../src/count/pipeline/pipeline.ts';
import { slimPod, UnusableObject } from '../../src/agent/kubernetes/slim.ts';
import { createPrefixTable } from '../../src/read/parsing/netfilter/prefixes.ts';
import { eventOf } from '../../src/publish/events/event.ts';
import { createLiveLists } from '../../src/explain/resolving/live-lists.ts';
import { createSeriesTable } from '../../src/count/series/series.ts';
import { createStatistics } from '../../src/count/pipeline/statistics.ts';
import { createLegacyMetric } from '../../src/agent/telemetry/legacy-metric.ts';
import { createLogger } from '../../src/agent/telemetry/logger.ts';
import { anyNode, anyDetails } from '../explain/incidents/catalogue/details.ts';
import { explainLine } from '../../src/cli/explain.ts';
import { readReplayOptions, type ReplayOptions } from '../../src/cli/options/replay-options.ts';
import { replay } from '../../src/cli/replay/replay.ts';
import { temporaryFolder } from '../read/sources/temporary-folder.ts';
import { canary, hostile, strangeLog, strangeObjects, templates } from './strangers.ts';
import { parsed } from '../cli/parsed.ts';
import { forAll, forAllAsync } from '../for-all.ts';

/*
 * Whatever an object of the cluster, a log line or a DNS answer contains, none of it controls the terminal or the
 * commands of a reader. Bytes: an Event's message 1,024 and its other fields 253; a line of a table 4,096; an audit row
 * 8,192; a time series with two labels 1,024.
 */

const numRuns = process.env['FUZZ'] === undefined ? 60 : 3000;
const folder = temporaryFolder();
const steering = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/u;
/** The only URL in our own texts (KN207). */
const own = 'https://ADDRESS:PORT/healthz';

async function run(objects: unknown, log: string, ...more: string[]) {
  const options = optionsOf(objects, ...more, written('log', log));
  const printed = { out: '', err: '' };
  const out = (text: string): void => void (printed.out += text);
  const err = (text: string): void => void (printed.err += text);
  await replay(options, { stdin: process.stdin, out, err });
  return printed;
}

function optionsOf(objects: unknown, ...args: string[]): ReplayOptions {
  const file = written('objects.json', JSON.stringify({ kind: 'List', items: objects }));
  return readReplayOptions(parsed('replay', '--pods', file, '--now', '2026-11-21T20:00:00Z', ...args));
}

function written(name: string, text: string): string {
  const path = join(folder(), name);
  writeFileSync(path, text);
  return path;
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}

function expectPlain(text: string, bytes: number): void {
  expect(text).not.toMatch(steering);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(bytes);
}

function leavesOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leavesOf) : [];
}

/**
 * Commands that a reader pastes contain only names, up to the end of the sentence. What a line says has a sentence of
 * its own, in quotes.
 */
function expectSafeCommands(message: string): void {
  const commands = /\b(?:kubectl|calicoctl|sysctl|modprobe|grep -e|set net\/).*?(?:\. (?=[A-Z])|$)/gm;
  for (const [command] of message.replace(/It logged: ".*?"(?= )/, '').matchAll(commands))
    expect(command).not.toContain(canary);
  for (const [, setting] of message.matchAll(/--prefix '(.*)$/gm)) expect(setting).toMatch(/^[\w.-]+=dropped'/);
}

function expectHarmless(event: object & { message?: string }): void {
  const { message = '', ...rest } = event;
  expectPlain(message, 1024);
  expectSafeCommands(message);
  for (const leaf of leavesOf(rest)) expectPlain(leaf, 253);
  for (const leaf of leavesOf(event)) expect(leaf.replaceAll(own, '')).not.toMatch(/<|:\/\//);
}

test('text from outside cannot control the terminal of a reader of Events', async () => {
  await forAllAsync([strangeObjects, strangeLog], { numRuns }, async (objects, log) => {
    const { out } = await run(objects, log, '-q', '-o', 'json');
    for (const line of linesOf(out)) {
      expect(line).not.toMatch(steering);
      expectHarmless(JSON.parse(line) as object);
    }
  });
});

test('text from outside cannot control the terminal of a reader of tables', async () => {
  await forAllAsync([strangeObjects, strangeLog, fc.boolean()], { numRuns }, async (objects, log, writes) => {
    const { out, err } = await run(objects, log, ...(writes ? ['--writes'] : []));
    for (const line of linesOf(out + err)) {
      expectPlain(line, 4096);
      expectSafeCommands(line);
    }
  });
});

test('text from outside cannot control the terminal of a reader of audit rows', async () => {
  await forAllAsync([strangeObjects, strangeLog], { numRuns }, async (objects, log) => {
    const { out } = await run(objects, log, '-q', '-o', 'audit');
    for (const line of linesOf(out)) {
      expectPlain(line, 8192);
      expect(JSON.parse(line)).toHaveProperty(['event.action']);
    }
  });
});

test('text from outside cannot control the terminal of a reader of an explained line', async () => {
  const given = [strangeObjects, fc.constantFrom(...templates), hostile] as const;
  await forAllAsync([...given], { numRuns }, async (objects, template, text) => {
    const printed: string[] = [];
    const print = (each: string): void => void printed.push(each);
    const line = `2026-11-21T09:00:00Z ${template(text, 0)}`;
    await explainLine(line, optionsOf(objects, 'x'), { stdin: Readable.from([]), out: print, err: print });
    for (const each of linesOf(printed.join(''))) expectPlain(each, 4096);
  });
});

test("a DNS owner's text cannot control the terminal of a reader of Events and labels of packets", async () => {
  const namings = fc.constantFrom('namespace', 'name', 'name_with_namespace', 'workload');
  await forAllAsync(
    [strangeObjects, hostile, hostile, namings],
    { numRuns },
    async (objects, hostName, prefix, naming) => {
      const remote = {
        podsOf: () => undefined,
        nodeOf: () => undefined,
        hostNameOf: () => hostName,
        latestChange: 0,
      };
      const lists = createLiveLists('node-b', remote);
      for (const pod of podsIn(objects)) lists.setPod(pod, now);
      const table = createSeriesTable();
      const metric = createLegacyMetric({ naming, hostNameOf: remote.hostNameOf });
      const statistics = createStatistics(metric.count);
      const pipeline = createPipeline({
        prefixes: createPrefixTable(),
        endpoints: lists.endpoints,
        statistics,
        node: 'node-b',
        includeNoise: true,
        counts: () => ({
          table,
          get incidents(): never {
            throw new Error('no incident');
          },
        }),
      });
      for (const source of ['203.0.113.9', '10.244.0.41']) {
        const text = `calico-drop ${prefix} IN=eth0 OUT=eth1 SRC=${source} DST=10.244.1.30 LEN=60 PROTO=UDP SPT=4000 DPT=53`;
        const line = { source: 'kmsg', line: 1, text, time: now, timeIsExact: true, host: undefined };
        pipeline.take(line, 'kernel');
      }
      for (const series of table.due(Infinity)) expectHarmless(eventOf(series, messageOf(series), now));
      for (const line of linesOf(await metric.text())) expectPlain(line, 1024);
    },
  );
});

test("text from outside cannot control the terminal of a reader of the agent's log", async () => {
  const lines: string[] = [];
  const write = (line: string): void => void lines.push(line);
  const json = await createLogger({ level: 'debug', terminal: false, node: 'node-b', write });
  const terminal = await createLogger({ level: 'debug', terminal: true, node: 'node-b', write });
  forAll([hostile], { numRuns: 10 * numRuns }, (text) => {
    lines.length = 0;
    for (const log of [json, terminal]) log.warn({ prefix: text, error: new Error(text) }, text);
    const [first = '', second = ''] = lines.map((line) => line.replace(/\n$/, ''));
    expect(first).not.toMatch(steering);
    expect(JSON.parse(first)).toMatchObject({ prefix: text.isWellFormed() ? text : expect.any(String) });
    // A text of several lines is for people to read; so are colours, if the tests run on a terminal.
    expect(second.replace(/\u001b\[\d+m|[\n\t]/g, '')).not.toMatch(steering);
  });
});

test('text from outside adds nothing to the commands against an incident', () => {
  const named = anyDetails.chain((details) =>
    fc.array(hostile, { minLength: 1, maxLength: 3 }).map((texts) => {
      const [name = ''] = texts;
      const felix = { kind: 'settings', settings: { bpfEnabled: true, bpfFrom: `node.${name}`, cleanupFrom: name } };
      return Object.assign(details, {
        failingPod: `${name}/${name}`,
        subjects: texts,
        facts: { ...details.facts, felix },
      });
    }),
  );
  forAll(
    [named, fc.oneof(anyNode, hostile), fc.constantFrom(...causes)],
    { numRuns: 10 * numRuns },
    (details, node, cause) => {
      expect(cause.fix(details, node)).not.toContain('evil');
    },
  );
});

const now = Date.UTC(2026, 10, 21, 9);

function podsIn(objects: readonly unknown[]) {
  return objects.slice(0, 3).flatMap((object) => {
    try {
      return [slimPod(object)];
    } catch (error) {
      if (error instanceof UnusableObject) return [];
      throw error;
    }
  });
}
