import type { ProgramRecord } from '../../model/program-record.ts';
import { createFields } from './fields.ts';
import { newRecord } from './record.ts';

const claim = 'calico/node is not ready';
/** As the kubelet quotes it. */
const quoting = /^(?:Readiness|Liveness) probe (?:failed|errored): $/;

/** calico-node's check of itself (Calico node/pkg/health), behind lines of its parts: `calico/node is not ready: BIRD is …`. */
export function parseReadiness(text: string): ProgramRecord | undefined {
  const at = text.indexOf(`${claim}: `);
  if (at < 0) return undefined;
  const before = text.slice(text.lastIndexOf('\n', at) + 1, at);
  if (before !== '' && !quoting.test(before)) return undefined;
  const fields = createFields();
  fields.addError(text.slice(at + claim.length + 2));
  return newRecord({ program: 'calico-node', severity: 'warning', caller: '', message: claim }, fields);
}
