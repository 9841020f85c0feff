import { type Audit, readAudit } from '../audit/audit.ts';
import type { NodeIncidents } from '../../explain/incidents/incidents.ts';
import type { WriteBudgetState } from '../../base/model/series.ts';
import type { Millis } from '../../base/model/log-line.ts';
import type { LookupQueue } from '../../count/pipeline/pipeline.ts';
import { readSeries, type SeriesTable } from '../../count/series/series.ts';
import type { JsonValue, Source } from '../../read/sources/sources.ts';
import { entriesOfKind } from '../../base/platform/keyed-changes.ts';
import type { KeptChange } from './segments.ts';
import type { KeptState } from './batch-writer.ts';

export interface KeptParts {
  agent: { id: string; node: string };
  sources: readonly Pick<Source, 'name' | 'position'>[];
  dedupe: { state: () => JsonValue };
  table: Pick<SeriesTable, 'takeChanges' | 'entries' | 'totals' | 'revision'>;
  queue: Pick<LookupQueue, 'changes'>;
  incidents: Pick<NodeIncidents, 'state' | 'revision'>;
  budget: { state: () => WriteBudgetState; readonly revision: number };
  audit?: Audit['kept'] | undefined;
  /** The Pods of this node. `alive`: when this agent last ran, in steps of five minutes, so that an idle node writes seldom. */
  pods?: { changes: LookupQueue['changes']; alive: () => Millis } | undefined;
}

/** Collects the state. Small parts are written whole if they differ; of tables only the changes are written. */
export function createKeptState({
  agent,
  sources,
  dedupe,
  table,
  queue,
  incidents,
  budget,
  audit,
  pods,
}: KeptParts): KeptState {
  const parts: Readonly<Record<string, () => unknown>> = {
    agent: () => agent,
    ...Object.fromEntries(sources.map((source) => [`position ${source.name}`, () => source.position])),
    once: dedupe.state,
    incidents: incidents.state,
    budget: budget.state,
    series: table.totals,
    ...(audit && { audit: audit.progress }),
    ...(pods && { alive: pods.alive }),
  };
  const written = new Map<string, string>();

  return {
    revision: () =>
      table.revision +
      queue.changes.revision +
      incidents.revision +
      budget.revision +
      (audit?.revision ?? 0) +
      (pods?.changes.revision ?? 0),
    takeChanges: () => [
      ...changedParts(),
      ...table.takeChanges(),
      ...queue.changes.take(),
      ...(audit?.takeChanges() ?? []),
      ...(pods?.changes.take() ?? []),
    ],
    *all() {
      for (const [key, get] of Object.entries(parts)) {
        const change = setOf(key, get);
        if (change !== undefined) yield change;
      }
      yield* table.entries();
      yield* queue.changes.entries();
      if (audit !== undefined) yield* audit.entries();
      if (pods !== undefined) yield* pods.changes.entries();
    },
  };

  function changedParts(): KeptChange[] {
    return Object.entries(parts).flatMap(([key, value]) => {
      const change = setOf(key, value);
      if (change === undefined || written.get(key) === change) return [];
      written.set(key, change);
      return [change];
    });
  }
}

function setOf(key: string, get: () => unknown): string | undefined {
  const value = get();
  return value === undefined ? undefined : JSON.stringify(['set', key, value]);
}

export function readKeptValues(values: ReadonlyMap<string, unknown>): Record<string, unknown> {
  const { id, node } = Object(values.get('agent')) as Record<string, unknown>;
  return {
    id,
    node,
    positions: Object.fromEntries(entriesOfKind('position', values)),
    once: values.get('once'),
    incidents: values.get('incidents'),
    budget: values.get('budget'),
    series: { ...Object(values.get('series')), ...readSeries(values), objects: [...entriesOfKind('object', values)] },
    waiting: [...entriesOfKind('waiting', values)].map(([, flow]) => flow),
    audit: readAudit(values),
    pods: { records: [...entriesOfKind('pod', values)].map(([, record]) => record), alive: values.get('alive') },
  };
}
