import type { Program, ProgramRecord } from '../../model/program-record.ts';
import type { Fields } from './fields.ts';
import { cut, messageLimit } from './limits.ts';

export type Severity = ProgramRecord['severity'];

export interface RecordParts {
  program: Program;
  severity: Severity;
  caller: string;
  message: string;
}

export function newRecord({ program, severity, caller, message }: RecordParts, fields: Fields): ProgramRecord {
  return {
    kind: 'program-record',
    program,
    severity,
    caller,
    message: cut(message, messageLimit),
    fields: fields.values,
    error: fields.error,
  };
}
