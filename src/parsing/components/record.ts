import type { ProgramRecord } from '../../model/program-record.ts';
import type { Fields } from './fields.ts';
import { cut, messageLimit } from './limits.ts';

export type Severity = ProgramRecord['severity'];

type RecordParts = Omit<ProgramRecord, 'kind' | 'fields' | 'error'>;

export function newRecord(parts: RecordParts, { values, error }: Fields): ProgramRecord {
  return { kind: 'program-record', ...parts, message: cut(parts.message, messageLimit), fields: values, error };
}
