import { existsSync, readFileSync } from 'node:fs';
import { honestNamespaces } from './names.ts';

/** The settings that make an agent write flow records to a file, large enough not to be packed. */
export function auditSettings(file: string): Readonly<Record<string, string>> {
  return { AUDIT: `file:${file}`, AUDIT_INTERVAL: '5', AUDIT_FILE_SIZE: '100' };
}

/** The records of a file about the honest tenant's packets. */
export interface AuditRows {
  /** By sender, address and port. */
  readonly flows: ReadonlyMap<string, AuditFlow>;
}

export interface AuditFlow {
  readonly packets: number;
  /** The content of all its records. */
  readonly text: string;
  /**
   * The same without what policies say, which is missing in a record whose interval was open when the agent was killed.
   */
  readonly bare: string;
}

type Row = Readonly<Record<string, string | number | boolean>>;

/**
 * Reads the records of what its Pods have sent and of what came to them from outside; `ports`: the ports of its losses.
 */
export function readAuditRows(file: string, ports: ReadonlySet<number>): AuditRows {
  const rows = new Map<string, Row>();
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  // A record may be written again, and the last one may be incomplete.
  for (const line of text.slice(0, text.lastIndexOf('\n') + 1).split('\n'))
    if (line !== '') {
      const row = JSON.parse(line) as Row;
      if (isHonest(row, ports)) rows.set(String(row['event.id']), row);
    }
  const groups = Map.groupBy(rows.values(), keyOf);
  const flows = [...groups].map(
    ([key, all]) =>
      [
        key,
        {
          packets: all.reduce((sum, row) => sum + Number(row['network.packets']), 0),
          text: textsOf(all),
          bare: textsOf(all.map(withoutVerdict)),
        },
      ] as const,
  );
  return { flows: new Map(flows) };
}

function isHonest(row: Row, ports: ReadonlySet<number>): boolean {
  const ends = ['source', 'destination'].map((end) => String(row[`${end}.k8s.namespace.name`]));
  return ports.has(Number(row['destination.port'])) && ends.some((namespace) => honestNamespaces.includes(namespace));
}

function keyOf(row: Row): string {
  const to = `${row['destination.address']}:${row['destination.port']}/${row['network.transport']}`;
  return `${row['source.address']} to ${to}`;
}

function textsOf(rows: readonly Row[]): string {
  return [...new Set(rows.map(textOf))].toSorted().join('\n');
}

function withoutVerdict(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).filter(([name]) => !/^policy\.(?:verdict|direction|decided_by|rule|nearest)/.test(name)),
  );
}

/** The fields that are the same in each round: names of both ends, and the verdict. */
function textOf(row: Row): string {
  const kept = Object.entries(row).filter(
    ([name]) => /^(?:source|destination|policy|event\.action)/.test(name) && !/uid|source\.port/.test(name),
  );
  return JSON.stringify(Object.fromEntries(kept));
}
