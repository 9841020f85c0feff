import { Readable } from 'node:stream';
import { UsageError } from '../../src/cli/options/command.ts';
import { readReplayOptions } from '../../src/cli/options/replay-options.ts';
import { explainLine } from '../../src/cli/explain.ts';
import { replay as replayWith } from '../../src/cli/replay/replay.ts';
import type { Streams } from '../../src/cli/terminal.ts';
import { parsed } from './parsed.ts';
import type { Outcome, Surroundings } from './program.ts';

/**
 * Runs `replay` in this process, at a time when the samples are a few hours old: starting a process takes longer than
 * reading most logs.
 */
export async function replay(
  args: readonly string[],
  { stdin = '' }: Pick<Surroundings, 'stdin'> = {},
): Promise<Outcome> {
  const outcome: Outcome = { status: null, out: '', err: '' };
  const streams: Streams = {
    stdin: Readable.from(typeof stdin === 'string' ? [Buffer.from(stdin)] : stdin),
    out: (text) => void (outcome.out += text),
    err: (text) => void (outcome.err += text),
  };
  try {
    const options = readReplayOptions(parsed('replay', '--now', '2026-11-21T20:00:00Z', ...args));
    const { explain } = options;
    outcome.status =
      explain === undefined ? await replayWith(options, streams) : await explainLine(explain, options, streams);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    streams.err(`${error.message}\n`);
    outcome.status = 2;
  }
  return outcome;
}
