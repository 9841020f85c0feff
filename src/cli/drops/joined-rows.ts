/** Makes one row of each flow: a packet between two Pods has an Event on either, and a flow of two hours, or two nodes, has several. */
import { flowEndText, mayBeAmong } from './flow-end.ts';
import { type DropRow, noValue } from './drop-row.ts';

/** Rows keep their order, by the newest of the joined ones. */
export function joinRows(rows: readonly DropRow[]): DropRow[] {
  const joined = new Map<string, [DropRow, ...DropRow[]]>();
  for (const row of withoutDoubles(rows)) {
    const key = JSON.stringify([flowEndText(row.from), flowEndText(row.to), row.port, row.verdict, row.packet]);
    const same = joined.get(key) ?? [];
    // Setting a key again moves it to the end of the map.
    joined.delete(key);
    joined.set(key, [row, ...same]);
  }
  return [...joined.values()].map(sumOf);
}

/** Leaves out packets of senders' Events that receivers' Events also count. */
function withoutDoubles(rows: readonly DropRow[]): DropRow[] {
  const received = Map.groupBy(
    rows.filter(({ side }) => side === 'to'),
    placeOf,
  );
  const policies = new Map<DropRow, string>();
  const counted = rows.filter((row) => {
    const same = row.side === 'from' ? (received.get(placeOf(row)) ?? []).filter((other) => isSame(row, other)) : [];
    // If a limit has left out an Event, the sender's shows more than the receivers'.
    if (sumOfCounts(same) < row.count) return true;
    for (const other of same) policies.set(other, row.policy);
    return false;
  });
  return counted.map((row) => withPolicy(row, policies.get(row)));
}

function withPolicy(row: DropRow, policy: string | undefined): DropRow {
  return row.policy === noValue && policy !== undefined ? { ...row, policy } : row;
}

/** Equal for both Events of a packet: one node has dropped it, once. */
function placeOf({ from, to, port, verdict, node, packet }: DropRow): string {
  return JSON.stringify([from.namespace, to.namespace, port, verdict, node, packet]);
}

function isSame(sent: DropRow, received: DropRow): boolean {
  return mayBeAmong(received.from, sent.from) && mayBeAmong(sent.to, received.to);
}

/** Returns whether a watched row is the other side of one that was already shown. */
export function isInRows(shown: readonly DropRow[], row: DropRow): boolean {
  const same = shown.filter(
    (other) =>
      other.side !== row.side &&
      placeOf(other) === placeOf(row) &&
      (row.side === 'from' ? isSame(row, other) : isSame(other, row)),
  );
  return sumOfCounts(same) >= row.count;
}

function sumOfCounts(rows: readonly DropRow[]): number {
  return rows.reduce((sum, { count }) => sum + count, 0);
}

/** `newest` first. The Events of both ends on one node count the same packets. */
function sumOf([newest, ...others]: readonly [DropRow, ...DropRow[]]): DropRow {
  const nodes = Map.groupBy([newest, ...others], ({ node }) => node);
  const counts = [...nodes.values()].map((rows) => {
    const [sent, received] = (['from', 'to'] as const).map((side) =>
      sumOfCounts(rows.filter((row) => row.side === side)),
    );
    return Math.max(sent ?? 0, received ?? 0);
  });
  return {
    ...newest,
    count: counts.reduce((sum, count) => sum + count, 0),
    node: [...nodes.keys()].join(','),
    policy: [newest, ...others].find(({ policy }) => policy !== noValue)?.policy ?? noValue,
  };
}
