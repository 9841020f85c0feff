/**
 * Appends lines of dropped packets to a log, `--rate` a second, and prints as JSON what rate it reached.
 *
 *     node test/bench/audit-writer.ts --log kern.log --rate 50000 --seconds 20 --flows many --pods 110
 */
import { parseArgs } from 'node:util';
import { createLiveLines, type LogKind, writeAtRate } from './lines.ts';

/** `few`: 220 flows between the Pods of the node. `many`: each packet is of another address. */
const kinds = { few: 'drops only', many: 'each drop of another flow' } as const satisfies Record<string, LogKind>;
export type Flows = keyof typeof kinds;

const { values } = parseArgs({
  options: {
    log: { type: 'string', default: '' },
    rate: { type: 'string', default: '' },
    seconds: { type: 'string', default: '' },
    flows: { type: 'string', default: '' },
    pods: { type: 'string', default: '' },
  },
});
const nextLine = createLiveLines(kinds[values.flows as Flows], Number(values.pods));
const written = await writeAtRate(values.log, nextLine, Number(values.rate), Number(values.seconds));
process.stdout.write(JSON.stringify(written));
