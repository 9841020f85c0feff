/**
 * Appends lines of dropped packets to a log, so many a second, and prints what it reached as JSON.
 *
 *     node test/bench/audit-writer.ts --log kern.log --rate 50000 --seconds 20 --flows many --pods 110
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createLiveLines, type LogKind } from './lines.ts';

/** `few`: 220 flows between the Pods of the node. `many`: each packet is of another address. */
const kinds = { few: 'drops only', many: 'each drop of another flow' } as const satisfies Record<string, LogKind>;
export type Flows = keyof typeof kinds;

export interface Written {
  lines: number;
  seconds: number;
  /** Milliseconds that the writer was behind its rate at most. */
  behind: number;
}

const { values } = parseArgs({
  options: {
    log: { type: 'string', default: '' },
    rate: { type: 'string', default: '' },
    seconds: { type: 'string', default: '' },
    flows: { type: 'string', default: '' },
    pods: { type: 'string', default: '' },
  },
});
const rate = Number(values.rate);
const all = rate * Number(values.seconds);
const nextLine = createLiveLines(kinds[values.flows as Flows], Number(values.pods));
const log = openSync(values.log, 'a');
const began = performance.now();
let written: Written = { lines: 0, seconds: 0, behind: 0 };
while (written.lines < all) {
  // rsyslog writes as often as records come; ten milliseconds are what the kernel's own writer is woken for at most.
  await delay(10);
  let { lines } = written;
  const due = Math.min(all, Math.floor(((performance.now() - began) / 1000) * rate));
  let text = '';
  for (; lines < due; lines++) text += nextLine();
  if (text !== '') writeSync(log, text);
  const seconds = (performance.now() - began) / 1000;
  written = { lines, seconds, behind: Math.max(written.behind, (seconds - lines / rate) * 1000) };
}
closeSync(log);
process.stdout.write(JSON.stringify(written));
