import { calicoBpfLines } from './lines-calico-bpf.ts';
import { calicoFlowLines } from './lines-calico-flow.ts';
import { gkeLines } from './lines-gke.ts';
import { hubbleLines } from './lines-hubble.ts';
import { nfqueueLines } from './lines-nfqueue.ts';
import { kernelLines } from './lines-kernel.ts';
import { loggerLines } from './lines-loggers.ts';
import { packetLines } from './lines-packets.ts';
import { prefixLines } from './lines-prefixes.ts';
import type { Row } from './rows.ts';

/** Lines of the shapes that are met in the field, one for each thing that is easily read wrongly. */
export const lines: Row[] = [
  ...packetLines,
  ...prefixLines,
  ...kernelLines,
  ...loggerLines,
  ...hubbleLines,
  ...gkeLines,
  ...nfqueueLines,
  ...calicoBpfLines,
  ...calicoFlowLines,
];
