import { type Ingest, createIngest } from '../agent/ingest.ts';
import { createClusterContext } from '../agent/cluster.ts';
import { minuteCounts } from '../agent/minute-counts.ts';
import { collectMetrics } from '../agent/scrape.ts';
import { createLevelledLog } from '../agent/levelled-log.ts';
import { createPublishing, type Publishing } from '../agent/publish.ts';
import { createTroubles } from '../agent/troubles.ts';
import { type LoadedConfig, version } from '../config/config.ts';
import { createReload } from '../config/reload.ts';
import type { Millis } from '../model/log-line.ts';
import { createSteadyClock } from '../platform/clock.ts';
import { lastTimes, restoreState } from '../state/agent-state.ts';
import { createRateLimitedLog } from '../telemetry/rate-limited-log.ts';
import { createLastSeen } from '../telemetry/last-seen.ts';
import { openLegacyMetric } from '../telemetry/legacy-metric.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { createMinuteSummary } from '../telemetry/minute.ts';
import { startServer } from '../telemetry/server.ts';

/** Of the 30 s that a Pod is given to end. */
const grace: Millis = 10_000;
/** What has to be looked after now and then. */
const upkeepInterval: Millis = 5000;
/** Positions alone are worth that much reading again after a crash. */
const upkeepsBetweenPositions = 6;

/**
 * The agent of one node, from start until `stop` is signalled. Resolves to the exit status: 1 when there is nothing that it could
 * read. Rejects when it cannot begin.
 */
export async function runAgent(reading: LoadedConfig, terminal: boolean, stop: AbortSignal): Promise<0 | 1> {
  const clock = createSteadyClock();
  const { now } = clock;
  const { config } = reading;
  const { log, setLevel } = await createLevelledLog({ level: config.logLevel, terminal, node: config.node });
  for (const warning of reading.warnings) log.warn({}, warning);
  const rateLimitedLog = createRateLimitedLog(log, { now });
  const metrics = createMetrics({
    version,
    onScrape() {
      lastSeen.look();
      collectMetrics(metrics, { ...context, ...ingest, reload, clock });
    },
  });
  const { troubles, tally } = createTroubles({ log, rateLimitedLog, metrics, server: () => context.connection.server });

  const stateFile = `${config.stateDir}/state.json`;
  const restored = restoreState(stateFile, config.node, new Date());
  if (restored.problem !== undefined) troubles.state('load', restored.problem);
  const context = createClusterContext({ config, log, troubles, onNews: () => ingest.lookupGate.review(), clock });
  const legacyMetric = openLegacyMetric(config.legacyMetric, context.remote.hostNameOf);
  const ingest: Ingest = createIngest({
    config,
    context,
    restored,
    metrics,
    legacyMetric,
    troubles,
    onEarlier: () => publishing.publisher.wake(),
    clock,
  });
  const publishing: Publishing = createPublishing({
    config,
    stateFile,
    stateId: restored.id,
    context,
    ingest,
    metrics,
    troubles,
    clock,
  });
  const { cluster, connection, lists } = context;
  const { checkpointer, publisher } = publishing;
  const { sources, lookupGate, incidents } = ingest;
  const lastTold = restored.state && lastTimes(restored.state.series);
  const lastSeen = createLastSeen({ metrics, ...ingest, tally, restored: lastTold, now: clock.wall });
  const reload = createReload({
    loaded: reading,
    log,
    apply(changed) {
      setLevel(changed.logLevel);
      ingest.change(changed);
    },
  });

  const health = { live, ready };
  const server = await startServer({
    setting: 'METRICS_ADDRESS',
    address: config.metricsAddress,
    metrics: legacyMetric?.beside(metrics) ?? metrics,
    health,
  });
  const healthServer =
    config.healthAddress === undefined
      ? undefined
      : await startServer({ setting: 'HEALTH_ADDRESS', address: config.healthAddress, health });
  const minute = createMinuteSummary(log, {
    snapshot: () => minuteCounts(tally, context, ingest),
    rateLimitedLog: rateLimitedLog.takeCounts,
  });
  log.info(
    {
      version,
      metricsAddress: server.address,
      healthAddress: healthServer?.address,
      sources: sources.map(({ name }) => name),
      server: connection.server,
      stateFile,
      restoredSeries: restored.state?.series.series.length ?? 0,
    },
    'Started',
  );
  cluster.start();
  for (const source of sources) source.start();
  void publisher.run();
  // Says at once whether it can be written there.
  void checkpointer.keepPositions();

  const status = await untilStopped();

  for (const source of sources) source.stop();
  lookupGate.stop();
  await publisher.stop(grace);
  cluster.stop();
  await checkpointer.keepPositions();
  await Promise.all([server.stop(), healthServer?.stop()]);
  minute.stop();
  log.info({ status }, 'Stopped');
  return status;

  async function untilStopped(): Promise<0 | 1> {
    const { promise, resolve } = Promise.withResolvers<0 | 1>();
    if (stop.aborted) return 0;
    stop.addEventListener('abort', () => resolve(0));
    let upkeeps = 0;
    let unreadable = 0;
    const timer = setInterval(() => {
      lists.sweep(now());
      if (incidents.nextTick() <= now()) incidents.tick(now());
      troubles.clock(connection.clockSkew);
      reload.look();
      lastSeen.look();
      // What was counted is worth more: rotated files may be deleted before they could be read again.
      if (++upkeeps % upkeepsBetweenPositions === 0) void checkpointer.keepPositions();
      else void checkpointer.keep();
      unreadable = sources.every(({ state }) => state === 'failed') ? unreadable + 1 : 0;
      if (unreadable < 2) return;
      log.error({ sources: sources.map(({ name }) => name) }, 'Nothing can be read: ending');
      resolve(1);
    }, upkeepInterval);
    return await promise.finally(() => clearInterval(timer));
  }

  function live(): string[] {
    return sources.every(({ state }) => state === 'failed') ? ['no source can be read'] : [];
  }

  function ready(): string[] {
    const reasons = live();
    return cluster.synced ? reasons : [...reasons, `not listed yet: ${cluster.missing.join(', ')}`];
  }
}
