import type { Observation } from '../model.ts';
import { parseConntrackFull, parseMartian, parseNeighbourOverflow, parseSuppressed } from './kernel.ts';
import { parseAntrea } from './loggers/antrea.ts';
import { parseAws } from './loggers/aws.ts';
import { parseOvn } from './loggers/ovn.ts';
import { parseUlogd } from './loggers/ulogd.ts';
import { parseNetfilter } from './netfilter.ts';
import type { PrefixTable } from './prefixes.ts';

/** One kind of line. A new one is a row here, a file beside it, and a sample. */
export interface Format {
  name: string;
  /** One of these literals stands in every such line. Blocks are searched for all formats' needles before lines are cut:
   *  eight characters or more cost next to nothing. */
  needles: readonly string[];
  /** Only the kernel can say such a thing: the line is refused when its envelope names another program. */
  kernelOnly: boolean;
  /** `undefined`: not mine. `unparsable`: mine, but cannot be read. Never throws; linear in the length of the text. */
  parse: (text: string, prefixes: PrefixTable) => Observation | undefined;
}

/** In order: the first that does not answer `undefined` has the line. */
export const formats: readonly Format[] = [
  { name: 'netfilter', needles: ['IN='], kernelOnly: true, parse: parseNetfilter },
  { name: 'ulogd', needles: ['"oob.prefix"', '"oob.family"'], kernelOnly: false, parse: parseUlogd },
  { name: 'conntrack', needles: ['conntrack: table full'], kernelOnly: true, parse: parseConntrackFull },
  { name: 'neighbour', needles: ['table overflow'], kernelOnly: true, parse: parseNeighbourOverflow },
  { name: 'martian', needles: ['martian source', 'martian destination'], kernelOnly: true, parse: parseMartian },
  {
    name: 'suppressed',
    needles: ['callbacks suppressed', ' kernel messages', 'kmsg buffer overrun', 'Suppressed '],
    kernelOnly: false,
    parse: parseSuppressed,
  },
  { name: 'aws-network-policy-agent', needles: ['PolicyVerdict:', 'Flow Info'], kernelOnly: false, parse: parseAws },
  { name: 'ovn-acl', needles: ['acl_log('], kernelOnly: false, parse: parseOvn },
  { name: 'antrea', needles: ['NetworkPolicy'], kernelOnly: false, parse: parseAntrea },
];

/** journald writes a message that is no UTF-8 as an array of bytes, in which no other needle can be seen. */
const byteArrayMessage = ['"MESSAGE":[', '"MESSAGE": [', '"MESSAGE" : ['];

/** One of these stands in every line that some format may claim, envelopes included. */
export const needlesOfAll: readonly string[] = [...formats.flatMap((format) => format.needles), ...byteArrayMessage];

/** Programs write much beside packets: all formats on every line took a third of what a line costs (`npm run bench:incidents`). */
const needlesOfPrograms = new RegExp(
  formats
    .filter(({ kernelOnly }) => !kernelOnly)
    .flatMap(({ needles }) => needles.map((needle) => RegExp.escape(needle)))
    .join('|'),
);

/**
 * What a message says, its envelope taken off; `undefined` when no format claims it.
 * `fromKernel` false refuses what only the kernel may say.
 */
export function parse(text: string, prefixes: PrefixTable, fromKernel = true): Observation | undefined {
  if (!fromKernel && !needlesOfPrograms.test(text)) return undefined;
  for (const format of formats) {
    if (format.kernelOnly && !fromKernel) continue;
    const observation = format.parse(text, prefixes);
    if (observation !== undefined) return observation;
  }
  return undefined;
}
