import { join } from 'node:path';
import { Readable } from 'node:stream';
import { readReplayOptions, replayCommand } from '../src/cli/options/replay-options.ts';
import { describeEvents } from '../src/cli/describe.ts';
import type { CoreEvent } from '../src/publish/events/event.ts';
import { replay } from '../src/cli/replay/replay.ts';

const samples = join(import.meta.dirname, '../samples');

/** The scenes that are shown: the Events that a sample makes on one object. */
const scenes = [
  {
    command: 'kubectl describe pod -n shop postgres-0',
    name: 'postgres-0',
    files: ['cluster.json'],
    log: 'policy-deny.log',
  },
  {
    command: 'kubectl describe node node-a',
    name: 'node-a',
    files: ['cluster.json', 'felix-bpf.json'],
    log: 'kube-proxy-lw8zd-fight.log',
  },
] as const;

const columns = 132;
const [charWidth, lineHeight, margin] = [7.25, 17, 18];
const [headFill, textFill, promptFill, warningFill] = ['#8b949e', '#c9d1d9', '#7ee787', '#f2cc60'];

interface Line {
  text: string;
  fill: string;
}

/** An SVG of a terminal, with text that can be selected. The same samples give the same picture. */
export async function picture(): Promise<string> {
  const lines: Line[] = [];
  for (const { command, name, files, log } of scenes) {
    if (lines.length > 0) lines.push({ text: '', fill: textFill });
    lines.push({ text: `$ ${command}`, fill: promptFill }, { text: '…', fill: textFill });
    const events = (await eventsOf(files, log)).filter(({ involvedObject }) => involvedObject.name === name);
    const now = Math.max(...events.map(({ lastTimestamp }) => Date.parse(lastTimestamp)));
    for (const row of describeEvents(events, now).trimEnd().split('\n')) lines.push(...wrapped(row));
  }
  return draw(lines);
}

async function eventsOf(files: readonly string[], log: string): Promise<CoreEvent[]> {
  const pods = files.flatMap((file) => ['--pods', join(samples, file)]);
  const args = [...pods, '--now', '2026-11-21T20:00:00Z', '--output', 'json', '--quiet', join(samples, log)];
  const options = readReplayOptions(replayCommand().parse(args, { from: 'user' }));
  let out = '';
  const streams = {
    stdin: Readable.from([]),
    err: () => {},
    out: (text: string) => void (out += text),
    terminal: undefined,
  };
  await replay(options, streams);
  return out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as CoreEvent);
}

/** A row of the table, its message broken into lines below each other. */
function wrapped(row: string): Line[] {
  const fill = row.startsWith('  Warning') ? warningFill : /^(?:Events|  Type|  ----)/.test(row) ? headFill : textFill;
  const lines: Line[] = [];
  let text = '';
  for (const word of row.split(/(?<=\S) (?=\S)/)) {
    if (text !== '' && text.length + 1 + word.length > columns) {
      lines.push({ text, fill });
      text = `${' '.repeat(24)}${word}`;
    } else text = text === '' ? word : `${text} ${word}`;
  }
  return [...lines, { text, fill }];
}

function draw(lines: readonly Line[]): string {
  const width = Math.ceil(columns * charWidth + 2 * margin);
  const height = lines.length * lineHeight + 2 * margin;
  const rows = lines.map(
    ({ text, fill }, index) =>
      `<text x="${margin}" y="${margin + (index + 1) * lineHeight - 4}" fill="${fill}" xml:space="preserve">${escaped(text)}</text>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="Events of kube-netfilter-tailer in a terminal">`,
    `<rect width="100%" height="100%" rx="8" fill="#0d1117"/>`,
    `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="12">`,
    ...rows,
    '</g>',
    '</svg>',
    '',
  ].join('\n');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
