import type { Millis } from '../../src/base/model/log-line.ts';

const quarter = 900_000;

/**
 * What a table says about one cause that no sync disproves, and whose failures come in order; it goes through all of
 * them again each time. `<time> opened <failures>`, `<time> continued 1`, `<time> closed`, which comes at the very time
 * when it is due.
 */
export function referenceChanges(times: readonly Millis[], retryInterval: Millis, end: Millis): string[] {
  const changes: string[] = [];
  let lines: Millis[] = [];
  let phase = 'none' as 'none' | 'open' | 'over';
  let cameBack = false;
  let over = 0;

  for (const time of times) {
    pass(time);
    const before = lines.at(-1);
    lines.push(time);
    if (phase === 'open') changes.push(`${time} continued 1`);
    else if (phase === 'over') {
      cameBack = true;
      phase = 'open';
      changes.push(`${time} opened 1`);
    } else if (before !== undefined && isMore(before, time)) {
      phase = 'open';
      changes.push(`${time} opened ${attempts().slice(-3).flat().length}`);
    }
  }
  pass(end);
  return changes;

  function pass(now: Millis): void {
    const last = lines.at(-1);
    if (last === undefined) return;
    if (phase === 'none' && now >= last + Math.max(quarter, 2 * retryInterval + 2000)) lines = [];
    if (phase === 'open' && now >= last + quietPeriod()) {
      phase = 'over';
      over = last + quietPeriod();
      changes.push(`${over} closed`);
    }
    if (phase === 'over' && now >= over + quarter) {
      phase = 'none';
      cameBack = false;
      lines = [];
    }
  }

  function quietPeriod(): Millis {
    const gaps = lines.slice(1).map((time, i) => time - (lines[i] ?? time));
    const fight = cameBack ? Math.min(quarter, 2 * Math.max(...gaps)) : 0;
    return Math.max(90_000, 3 * retryInterval, fight);
  }

  function attempts(): Millis[][] {
    const found: Millis[][] = [];
    for (const [i, time] of lines.entries()) {
      const before = lines[i - 1];
      if (before !== undefined && time - before <= 2000) found.at(-1)?.push(time);
      else found.push([time]);
    }
    return found;
  }

  function isMore(before: Millis, time: Millis): boolean {
    const started = attempts().map(([first = time]) => first);
    const [third, run] = [started.at(-3), started.at(-1) ?? time];
    if (time - before <= 2000) return time - run > 2000;
    return time - before <= 2 * retryInterval || (third !== undefined && time - third <= quarter);
  }
}
