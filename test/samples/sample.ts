import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { readReplayOptions } from '../../src/cli/options/replay-options.ts';
import type { CoreEvent } from '../../src/publish/events/event.ts';
import { replay } from '../../src/cli/replay/replay.ts';
import { readSummary, type Summary } from './summary.ts';
import { parsed } from '../cli/parsed.ts';

export const samplesFolder = join(import.meta.dirname, '../../samples');

/** After the last line of every sample, so that ages and guessed times never change. */
const now = '2026-11-21T20:00:00Z';

/** The content of `samples/<case>.expected.json`. */
export interface Outcome {
  events: CoreEvent[];
  summary: Summary;
}

/** Names of the files in samples/ that end in `ending`, without it. */
export function samplesWith(ending: string): string[] {
  return readdirSync(samplesFolder)
    .filter((file) => file.endsWith(ending))
    .map((file) => file.slice(0, -ending.length))
    .toSorted();
}

export function logText(name: string): string {
  return readFileSync(join(samplesFolder, `${name}.log`), 'utf8');
}

export function expectedPath(name: string): string {
  return join(samplesFolder, `${name}.expected.json`);
}

/** Replays a sample as the command line does. Throws when the program prints an error. */
export async function replaySample(name: string): Promise<Outcome> {
  const json = await run(name, 'json');
  const audit = await run(name, 'audit');
  return {
    events: records(json.out) as CoreEvent[],
    summary: readSummary(json.err, records(audit.out) as Parameters<typeof readSummary>[1]),
  };
}

async function run(name: string, output: string): Promise<{ out: string; err: string }> {
  const options = readReplayOptions(
    parsed(
      'replay',
      '--pods',
      join(samplesFolder, 'cluster.json'),
      '--now',
      now,
      '--output',
      output,
      join(samplesFolder, `${name}.log`),
    ),
  );
  const written = { out: '', err: '' };
  const status = await replay(options, {
    stdin: Readable.from([]),
    out: (text) => (written.out += text),
    err: (text) => (written.err += text),
  });
  if (status !== 0) throw new Error(`replay of ${name} ended with ${status}:\n${written.err}`);
  return written;
}

/** NDJSON. */
function records(text: string): unknown[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);
}
