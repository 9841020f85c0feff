/** Runs SQL in DuckDB, which is loaded only here and only when needed, because few installations have it. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { availableParallelism } from 'node:os';
import { reasonOf } from '../../base/platform/system-error.ts';
import { ReportError, type TopList } from './model.ts';

const enginePackage = '@duckdb/node-api@1.5.6-r.1';

export interface Engine {
  run: (sql: string) => Promise<void>;
  /** Returns all rows of a small result. Its numbers must be DOUBLE or INTEGER, because a BIGINT becomes a `bigint`. */
  all: <Row>(sql: string) => Promise<Row[]>;
  one: <Row>(sql: string) => Promise<Row>;
  /** Returns the rows of a query with a LIMIT, and the number of further rows. The query counts all rows as `total`. */
  bounded: <Row>(sql: string) => Promise<TopList<Row>>;
  /** Returns the rows of a result of any size, some thousand at a time. */
  batches: <Row>(sql: string) => AsyncIterable<Row[]>;
  close: () => void;
}

/** Opens a new database in a file. `folder`: where DuckDB puts data that does not fit into its memory. Rejects with a `ReportError`. */
export async function openEngine(file: string, folder: string): Promise<Engine> {
  const duckdb = await import('@duckdb/node-api').catch((error: unknown) => {
    throw new ReportError(
      `report needs the package @duckdb/node-api, which is not installed here (${firstLine(reasonOf(error))}). ` +
        `In the folder of kube-netfilter-tailer: npm install --no-save --ignore-scripts ${enginePackage}`,
    );
  });
  let instance;
  try {
    instance = await duckdb.DuckDBInstance.create(file, {
      memory_limit: '768MB',
      threads: String(Math.min(4, availableParallelism())),
      temp_directory: folder,
      // DuckDB must not download extensions.
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
    async bounded<Row>(sql: string): Promise<TopList<Row>> {
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

/** Turns an error of DuckDB, such as a full disk or too little memory, into a message for the user. */
function rethrow(error: unknown): never {
  throw new ReportError(`DuckDB: ${firstLine(reasonOf(error))}`, { cause: error });
}

export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Quotes the name, because names of columns have dots. */
export function column(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
