/** `suggest --audit`: rows of the audit, read one after another and not kept. */
import { type FlowRecord, schemaVersion } from '../../audit/fields.ts';
import { findFiles } from '../../report/read/files.ts';
import { eachLine } from '../../report/read/lines.ts';
import { InputError } from '../../sources/framing/input.ts';

export interface RowsRead {
  readonly rows: number;
  readonly broken: number;
  /** The first broken rows by file and line, and files that cannot be read. */
  readonly problems: readonly string[];
}

/** Names of Kubernetes have 253 characters at most. */
const longestText = 512;
const mostNamed = 20;
const [major] = schemaVersion.split('.');

/** Files as `report` takes them: patterns, gzip, Zstandard, `-`. What is broken is left out, counted and named. */
export async function readAuditRows(named: readonly string[], onRow: (row: FlowRecord) => void): Promise<RowsRead> {
  const { files, problems } = findFiles(named);
  let [rows, broken] = [0, 0];
  for (const file of files) {
    let number = 0;
    const take = (line: string | undefined): void => {
      number++;
      if (line?.trim() === '') return;
      const row = rowOf(line);
      if (typeof row === 'object') {
        rows++;
        onRow(row);
      } else if (++broken <= mostNamed) problems.push(`${file}:${number}: ${row}`);
    };
    try {
      await eachLine(file, take);
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      problems.push(error.message);
    }
  }
  if (broken > mostNamed) problems.push(`${broken - mostNamed} more rows that cannot be read`);
  return { rows, broken, problems };
}

/** The row, or what is wrong with it. */
function rowOf(line: string | undefined): FlowRecord | string {
  let value: unknown;
  try {
    value = JSON.parse(line ?? '');
  } catch {
    value = undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return 'is no flow record: cut off, too long, or no JSON';
  const row = value as FlowRecord;
  const version: unknown = row['schema.version'];
  if (typeof version !== 'string' || version.split('.')[0] !== major)
    return `is no flow record of schema version ${major}.x`;
  const packets: unknown = row['network.packets'];
  const isGap = row['event.name'] === 'network.flow.gap';
  const isCounted = isGap || (Number.isSafeInteger(packets) && (packets as number) >= 0);
  if (row['event.id'] === undefined || !isCounted || !texts.every((name) => isText(row[name])))
    return 'is not what docs/audit.md says';
  return row;
}

/** What is kept of rows is bounded with it. */
function isText(value: unknown): boolean {
  return value === undefined || (typeof value === 'string' && value.length <= longestText);
}

/** Fields that are looked at. */
const texts: readonly (keyof FlowRecord)[] = [
  'event.id',
  'network.transport',
  ...['source', 'destination'].flatMap((end) =>
    ['address', 'kind', 'k8s.namespace.name', 'k8s.pod.name', 'k8s.owner.kind', 'k8s.owner.name'].map(
      (name) => `${end}.${name}` as keyof FlowRecord,
    ),
  ),
];
