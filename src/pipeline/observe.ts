import type { LogLine } from '../model/log-line.ts';
import type { Observation } from '../model/observation.ts';
import { containerOf } from '../log-formats/container-path.ts';
import { parseDroppedLogs } from '../parsing/components/dropped-logs.ts';
import { parseProgramRecord } from '../parsing/components/program-record.ts';
import { parse, type Refused } from '../parsing/formats.ts';
import type { PrefixTable } from '../parsing/netfilter/prefixes.ts';
import { copy } from '../platform/address.ts';
import type { LineOrigin } from '../sources/source.ts';

/** No line that a kernel prints is longer. */
const longLine = 1024;
/** No name and no prefix in such a line is longer. */
const longText = 256;

/** `programsAnywhere`: kube-proxy and calico-node are believed in every log, not only in their own. */
export function observe(
  line: Pick<LogLine, 'text' | 'source' | 'program'>,
  origin: LineOrigin,
  prefixes: PrefixTable,
  programsAnywhere = false,
): Observation | Refused | undefined {
  const isProgram = origin === 'program' || origin === 'container';
  const writer = origin === 'container' ? containerOf(line.source)?.container : line.program;
  const packet = origin === 'program' ? undefined : parse(line.text, prefixes, origin, writer);
  if (packet !== undefined && packet.kind !== 'refused') return unbound(line.text, packet);
  if (origin === 'kernel' || !(isProgram || programsAnywhere)) return packet;
  return parseDroppedLogs(line.text, line.program) ?? parseProgramRecord(line.text, line.program) ?? packet;
}

/** A part of a text keeps all of it (64 KiB where a tenant writes) in memory, so long texts are copied, and names in them cut. */
function unbound(text: string, observation: Observation): Observation {
  if (text.length <= longLine) return observation;
  return JSON.parse(JSON.stringify(observation), shortened) as Observation;
}

function shortened(_: string, value: unknown): unknown {
  return typeof value === 'string' ? copy(value.slice(0, longText)) : value;
}
