import { expect, test } from 'vitest';
import type { Finding } from '../../../src/base/model/finding.ts';
import type { Series } from '../../../src/base/model/series.ts';
import { createSeriesTable, type SeriesTable } from '../../../src/count/series/series.ts';
import { createWriteBudget, nodeLimits, type WriteBudget } from '../../../src/publish/events/write-budget.ts';
import { externalEnd, finding, flow, incident, nine, podRef } from '../../builders.ts';
import { publish } from '../../count/series/writing.ts';

const second = 1000;

/** Packets from a Pod, `NAMESPACE/NAME`, to an address. Sent packets do not count as a scan. */
function sent(pod: string, address: string, elsewhere?: true): Finding {
  const [namespace = '', name = ''] = pod.split('/');
  return finding({
    identity: pod,
    regarding: { ...podRef(name, namespace), uid: pod },
    details: flow({ direction: 'sending', peer: externalEnd({ address, identity: address }) }),
    ...(elsewhere && { elsewhere }),
  });
}

interface Storm {
  readonly elsewhere?: true;
  /** Whether the honest tenant's peer is one of the attacker's peers. */
  readonly isShared: boolean;
  readonly isHourUsed?: true;
}

/**
 * The delays in seconds of three Events and an incident of an honest tenant. Its packets come ten seconds after those
 * of an attacker whose Namespaces have more to write than the node may. Writes take no time.
 */
function delaysOf(namespaces: number, { elsewhere, isShared, isHourUsed }: Storm): readonly number[] {
  const table = createSeriesTable();
  const budget = createWriteBudget(isHourUsed && { restored: { left: 0, at: 0 } });
  const began = nine + 10 * second;
  const delays: number[] = [];
  for (let pod = 0; pod < 200 + 8 * namespaces; pod++)
    table.count(sent(`noisy-${pod % namespaces}/${pod}`, isShared ? 'shared' : String(pod), elsewhere), nine);
  const note = (now: number, { finding: { regarding } }: Series): void => {
    if (regarding.namespace?.startsWith('noisy-') !== true) delays.push((now - began) / second);
  };
  writeUntil(table, budget, began, note);
  table.count(incident(), began);
  for (const name of ['a', 'b', 'c']) table.count(sent(`quiet/${name}`, isShared ? 'shared' : 'own', elsewhere), began);
  // After this, all Events of the attacker are written.
  writeUntil(table, budget, began + 20_000 * second, note);
  return delays;
}

function writeUntil(
  table: SeriesTable,
  budget: WriteBudget,
  end: number,
  note: (now: number, series: Series) => void,
): void {
  for (let now = nine; now < end; now = Math.max(now, table.nextDue())) {
    const turn = table.next(now, (kind) => budget.availableAt(now, kind));
    if (turn === undefined) continue;
    budget.spend(now, turn.kind);
    table.begin(turn.series);
    publish(table, turn.series, now);
    note(now, turn.series);
  }
}

function range<T>(count: number, make: (index: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

const { all, others, hour } = nodeLimits;

/**
 * The most seconds for this many writes, if the attacker has used up the bursts, and at most `used` of the hour's
 * budget.
 */
const secondsOf = {
  first: (writes: number): number => writes / all.rate,
  more: (writes: number, used: number): number =>
    Math.max(writes / others.rate, (used + writes - hour.burst) / hour.rate),
};

/** The attacker's writes in the ten seconds before. */
const before = others.burst + 10 * others.rate;

test.each([1, 10, 100])(
  'an attacker with %i namespaces delays an incident by one turn, and each other Event by one turn of each namespace',
  (attackers) => {
    for (const isShared of [false, true])
      for (const [storm, seconds] of [
        [{}, secondsOf.first],
        [{ elsewhere: true }, (writes: number) => secondsOf.more(writes, before)],
        [{ elsewhere: true, isHourUsed: true }, (writes: number) => secondsOf.more(writes, hour.burst)],
      ] as const) {
        const [ofIncident = Infinity, ...ofDrops] = delaysOf(attackers, { ...storm, isShared });
        // A second until it is due, and a part of a second until the next token.
        expect(ofIncident).toBeLessThanOrEqual(1.2);
        expect(ofDrops).toHaveLength(3);
        for (const [index, delay] of ofDrops.entries()) {
          // In every second turn only namespaces count.
          const turns = (index + 1) * (attackers + 1) * (isShared ? 2 : 1);
          expect(delay).toBeLessThanOrEqual(1.2 + seconds(turns));
        }
      }
  },
);

test.each([1, 10, 100])(
  "further Events of %i namespaces delay another one's last count until the hour's writes are used up",
  (attackers) => {
    const table = createSeriesTable();
    const budget = createWriteBudget();
    const flows = [sent('quiet/a', 'own'), ...range(100, (pod) => sent(`noisy-${pod % attackers}/${pod}`, `${pod}`))];
    for (const each of flows) table.count(each, nine);
    writeUntil(table, budget, nine + 25 * second, () => {});
    for (const each of flows) table.count(each, nine + 26 * second);
    for (const each of range(600, (pod) => sent(`noisy-${pod % attackers}/there-${pod}`, `${pod}`, true)))
      table.count(each, nine + 26 * second);
    let last = Infinity;
    writeUntil(table, budget, nine + 1000 * second, (now, { finding: { identity } }) => {
      if (identity === 'quiet/a') last = (now - nine) / second;
    });
    const quietAt = 26 + 60;
    expect(last).toBeLessThanOrEqual(quietAt + 120 + 1.1 * (attackers + 1));
  },
);
