import type { Config } from '../config.ts';
import { messageOf } from '../explaining/wording.ts';
import { createEventStore } from '../kubernetes/event-store.ts';
import type { Millis } from '../model.ts';
import { createEventWriter } from '../publishing/event-writer.ts';
import { createPublisher, type Publisher } from '../publishing/publisher.ts';
import type { AgentState } from '../state/agent-state.ts';
import { createKeeper, type Keeper } from '../state/keeper.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Counting } from './counting.ts';
import type { Knowing } from './knowing.ts';
import type { Troubles } from './troubles.ts';

/** The cold path: what has been counted is kept on disk, then told to the API server. */
export interface Telling {
  keeper: Keeper;
  publisher: Publisher;
}

export interface TellingOptions {
  config: Config;
  stateFile: string;
  stateId: string;
  knowing: Knowing;
  counting: Counting;
  metrics: Metrics;
  troubles: Troubles;
  now: () => Millis;
}

export function createTelling(options: TellingOptions): Telling {
  const { config, stateFile, stateId, knowing, counting, metrics, troubles, now } = options;
  const { sources, once, table, room, incidents } = counting;
  const keeper = createKeeper({
    file: stateFile,
    snapshot: (): AgentState => ({
      id: stateId,
      node: config.node,
      positions: Object.fromEntries(sources.flatMap(({ name, position }) => (position ? [[name, position]] : []))),
      once: once.state(),
      series: table.state(),
      incidents: incidents.state(),
      waiting: room.flows,
    }),
    revision: () => table.revision + incidents.revision,
    onSaved(bytes) {
      metrics.stateSaved.set(now() / 1000);
      metrics.stateSize.set(bytes);
      troubles.stateSaved();
    },
    onFailed: (error) => troubles.state('save', error),
  });
  const publisher = createPublisher({
    table,
    write: createEventWriter({
      store: createEventStore(knowing.connection),
      messageOf,
      stateId,
      keep: keeper.keep,
      now,
    }),
    onResult: troubles.write,
    onWritten: (packets) => metrics.eventPacketsPublished.add(packets),
    onAbandoned: troubles.abandoned,
    onUnauthorized: knowing.connection.reload,
    now,
  });
  return { keeper, publisher };
}
