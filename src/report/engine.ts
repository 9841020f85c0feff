/** DuckDB, which reads and aggregates the rows. It is an optional dependency, so it is loaded only here and only when it is needed. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { availableParallelism } from 'node:os';
import { reasonOf } from '../platform/system-error.ts';
import { type Bounded, ReportError } from './model.ts';

const enginePackage = '@duckdb/node-api@1.5.5-r.5';

export interface Engine {
  run: (sql: string) => Promise<void>;
  /** All rows of an answer that is small. Numbers have to be DOUBLE or INTEGER, so that they are numbers here. */
  all: <Row>(sql: string) => Promise<Row[]>;
  /** The row of an answer that has exactly one. */
  one: <Row>(sql: string) => Promise<Row>;
  /** The first rows of an answer, and how many more there are: the query counts all of them as `total`. */
  bounded: <Row>(sql: string) => Promise<Bounded<Row>>;
  /** The rows of an answer of any size, some thousand at a time. */
  batches: <Row>(sql: string) => AsyncIterable<Row[]>;
  close: () => void;
}

/** Opens a new database in a file. `folder`: where DuckDB puts what does not fit into its memory. */
export async function openEngine(file: string, folder: string): Promise<Engine> {
  const duckdb = await import('@duckdb/node-api').catch((error: unknown) => {
    throw new ReportError(
      `report needs the package @duckdb/node-api, which is not installed here (${firstLine(reasonOf(error))}). ` +
        `In the folder of kube-netfilter-tailer: npm install --no-save ${enginePackage}`,
    );
  });
  let instance;
  try {
    instance = await duckdb.DuckDBInstance.create(file, {
      memory_limit: '768MB',
      threads: String(Math.min(4, availableParallelism())),
      temp_directory: folder,
      // Nothing is fetched: what DuckDB needs for this is built in.
      autoinstall_known_extensions: 'false',
      autoload_known_extensions: 'false',
    });
  } catch (error) {
    throw new ReportError(`${file}: cannot be made a database: ${firstLine(reasonOf(error))}`, { cause: error });
  }
  const connection = await instance.connect();
  const all = async <Row>(sql: string): Promise<Row[]> =>
    (await connection.runAndReadAll(sql).catch(rethrow)).getRowObjectsJS() as Row[];
  return {
    run: async (sql) => void (await connection.run(sql).catch(rethrow)),
    all,
    one: async <Row>(sql: string) => (await all<Row>(sql))[0] as Row,
    async bounded<Row>(sql: string): Promise<Bounded<Row>> {
      const rows = await all<Row & { total?: number }>(sql);
      const more = (rows[0]?.total ?? 0) - rows.length;
      for (const row of rows) delete row.total;
      return { top: rows, more };
    },
    batches: (sql) => batchesOf(connection, sql),
    close() {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

async function* batchesOf<Row>(connection: DuckDBConnection, sql: string): AsyncIterable<Row[]> {
  try {
    const result = await connection.stream(sql);
    for await (const rows of result.yieldRowObjectJs()) yield rows as Row[];
  } catch (error) {
    rethrow(error);
  }
}

/** A full disk, too little memory: there is no report then, but an answer. */
function rethrow(error: unknown): never {
  throw new ReportError(`DuckDB: ${firstLine(reasonOf(error))}`, { cause: error });
}

/** A text as SQL spells it. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** The name of a column, which has dots. */
export function column(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
