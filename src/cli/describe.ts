import { humanDuration } from '../base/platform/duration.ts';
import type { Millis } from '../base/model/log-line.ts';
import { printable } from '../base/platform/printable.ts';
import type { CoreEvent } from '../publish/events/event.ts';

/** Returns the Events section as `kubectl describe` prints it (k8s.io/kubectl/pkg/describe, DescribeEvents). Ages are as of `now`. */
export function describeEvents(events: readonly CoreEvent[], now: Millis): string {
  const rows = events
    .toSorted(byLastTimestamp)
    .map((event) => [event.type, event.reason, ageOf(event, now), event.source.component, event.message.trim()])
    .map((row) => row.map(printable));
  const header = [
    ['Type', 'Reason', 'Age', 'From', 'Message'],
    ['----', '------', '----', '----', '-------'],
  ];
  return `Events:\n${alignColumns([...header, ...rows])
    .map((line) => `  ${line}\n`)
    .join('')}`;
}

/** Orders by time, then by name, as kubectl does for up to twelve Events. With more, Go's sort mixes Events of equal times. */
function byLastTimestamp(a: CoreEvent, b: CoreEvent): number {
  return Date.parse(a.lastTimestamp) - Date.parse(b.lastTimestamp) || (a.metadata.name < b.metadata.name ? -1 : 1);
}

function ageOf({ count, firstTimestamp, lastTimestamp }: CoreEvent, now: Millis): string {
  const first = humanDuration(now - Date.parse(firstTimestamp));
  return count > 1 ? `${humanDuration(now - Date.parse(lastTimestamp))} (x${count} over ${first})` : first;
}

/** Works like Go's text/tabwriter, with two spaces of padding: a column is as wide as its widest cell, and the last one is ragged. */
export function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.slice(0, -1).entries())
      widths[column] = Math.max(widths[column] ?? 0, widthOf(cell));
  }
  return rows.map((row) =>
    row
      .map((cell, column) =>
        column === row.length - 1 ? cell : cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell) + 2),
      )
      .join(''),
  );
}

/** Go counts code points. */
function widthOf(cell: string): number {
  let width = 0;
  for (const _ of cell) width++;
  return width;
}
