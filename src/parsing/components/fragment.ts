import type { ProgramRecord } from '../../model/program-record.ts';
import { createFields } from './fields.ts';
import { unindent } from './klog-values.ts';
import { newRecord } from './record.ts';
import { klogProgram, type Tag } from './tag.ts';

/** How lines of iptables, nft and kube-proxy's own lock begin that stand in the error of a record of several lines. */
const beginning =
  /^(?:exit status \d{1,3}: |(?:ip6?tables(?:-legacy|-nft)?-restore)(?: v[\d.]{1,16} \((?:legacy|nf_tables)\)|: line \d{1,9} failed)|\/dev\/stdin:\d{1,9}:[\d-]{1,20}: Error: |Can't (?:lock|open lock file) \/run\/xtables|Another app is currently holding the xtables lock)/;

/** A line out of the middle of kube-proxy's record, as a syslog has none of several lines. Its message is empty. */
export function parseFragment(text: string, tag: Tag): ProgramRecord | undefined {
  if (!beginning.test(text.slice(0, 256).trimStart())) return undefined;
  const fields = createFields();
  fields.addError(unindent(text).trimStart());
  return newRecord({ program: klogProgram(tag, ''), severity: 'error', caller: '', message: '' }, fields);
}
