import { type Agent, createAgent, minuteCounts } from './agent.ts';
import { type LoadedConfig, version } from './config/config.ts';
import type { Millis } from '../base/model/log-line.ts';
import { createLogger } from './telemetry/logger.ts';
import { createMinuteSummary } from './telemetry/minute.ts';
import { type RunningServer, startServer } from './telemetry/server.ts';

/** The longest wait for Events and for the audit at the end, because a Pod has 30 s to end. */
const grace: Millis = 10_000;
const housekeepingInterval: Millis = 5000;
/** The first state is saved this early, so that an agent that is killed again and again still makes progress. */
const firstKeep: Millis = 1000;
/** If nothing was counted, read positions are still saved in every sixth round, to limit the lines that are read again after a crash. */
const roundsBetweenPositions = 6;
const unreadableRounds = 2;

/** Resolves to the exit status, 1 if no source could be read. Rejects if it cannot start. */
export async function runAgent(loaded: LoadedConfig, terminal: boolean, stop: AbortSignal): Promise<0 | 1> {
  const { config } = loaded;
  const log = await createLogger({ level: config.logLevel, terminal, node: config.node });
  for (const warning of loaded.warnings) log.warn({}, warning);
  const agent = await createAgent(loaded, log);
  const servers = await startServers(agent);
  const minute = createMinuteSummary(log, {
    snapshot: () => minuteCounts(agent),
    takeRepeated: agent.rateLimitedLog.takeCounts,
  });
  start(agent, servers);
  const status = await untilStopped(agent, stop);
  await end(agent);
  const { metrics, health, drops } = servers;
  await Promise.all([metrics.stop(), health?.stop(), drops?.stop()]);
  minute.stop();
  log.info({ status }, 'Stopped');
  return status;
}

interface Servers {
  readonly metrics: RunningServer;
  readonly health: RunningServer | undefined;
  readonly drops: RunningServer | undefined;
}

async function startServers({ config, scrape, ...agent }: Agent): Promise<Servers> {
  const health = { live: () => unreadable(agent), ready: () => [...unreadable(agent), ...unlisted(agent)] };
  const { metricsAddress, healthAddress, dropsAddress, node } = config;
  const isOfNode = (host: string): boolean => agent.context.lists.endpoints.nodeOfHost(host)?.name === node;
  const common = { health, isOfNode, onArrival: agent.arrivals.note };
  const { liveFlows } = agent.ingest;
  const metrics = await startServer({
    setting: 'METRICS_ADDRESS',
    address: metricsAddress,
    metrics: scrape,
    ...common,
  });
  const ofHealth =
    healthAddress && (await startServer({ setting: 'HEALTH_ADDRESS', address: healthAddress, ...common }));
  const drops = liveFlows && (() => liveFlows.text());
  const ofDrops =
    dropsAddress && (await startServer({ setting: 'DROPS_ADDRESS', address: dropsAddress, drops, ...common }));
  return { metrics, health: ofHealth || undefined, drops: ofDrops || undefined };
}

function unreadable({ ingest }: Pick<Agent, 'ingest'>): string[] {
  return ingest.sources.every(({ state }) => state === 'failed') ? ['no source can be read'] : [];
}

function unlisted({ context: { cluster } }: Pick<Agent, 'context'>): string[] {
  return cluster.synced ? [] : [`not listed yet: ${cluster.missing.join(', ')}`];
}

function start(agent: Agent, servers: Servers): void {
  const { log, context, ingest, publishing, restored, config } = agent;
  const { sources } = ingest;
  // Open files before 'Started' is logged, so that a line that is written after it is counted.
  for (const source of sources) source.start();
  log.info(
    {
      version,
      metricsAddress: servers.metrics.address,
      healthAddress: servers.health?.address,
      dropsAddress: servers.drops?.address,
      sources: sources.map(({ name }) => name),
      server: context.connection.server,
      stateDir: config.stateDir,
      restoredSeries: restored.state?.series.series.length ?? 0,
      restoredPods: context.keptPods.earlier.size,
    },
    'Started',
  );
  context.cluster.start();
  ingest.audit?.start();
  void publishing.publisher.run();
  // Save at once, to show whether the state can be written.
  void publishing.stateLog.keepPositions();
}

async function untilStopped(agent: Agent, stop: AbortSignal): Promise<0 | 1> {
  if (stop.aborted) return 0;
  const { promise, resolve } = Promise.withResolvers<0 | 1>();
  stop.addEventListener('abort', () => resolve(0));
  let rounds = 0;
  let failedRounds = 0;
  const timer = setInterval(() => {
    doPeriodicWork(agent, ++rounds);
    failedRounds = unreadable(agent).length > 0 ? failedRounds + 1 : 0;
    if (failedRounds < unreadableRounds) return;
    agent.log.error({ sources: agent.ingest.sources.map(({ name }) => name) }, 'Nothing can be read: ending');
    resolve(1);
  }, housekeepingInterval);
  const first = setTimeout(() => void agent.publishing.stateLog.keep(), firstKeep);
  return await promise.finally(() => {
    clearInterval(timer);
    clearTimeout(first);
  });
}

function doPeriodicWork(agent: Agent, round: number): void {
  const { context, ingest, publishing, problems, reload, lastSeen, nodeChecks, clock } = agent;
  const { incidents } = ingest;
  const now = clock.now();
  context.lists.sweep(now);
  if (incidents.nextTick() <= now) incidents.tick(now);
  problems.api.clock(context.connection.clockSkew);
  problems.api.settle();
  problems.api.settleMemory(context.memory.accounts);
  reload.look();
  lastSeen.look();
  nodeChecks.round();
  void ingest.audit?.round(publishing.stateLog.keep);
  if (round % roundsBetweenPositions === 0) void publishing.stateLog.keepPositions();
  else void publishing.stateLog.keep();
}

async function end({ context, ingest, publishing }: Agent): Promise<void> {
  for (const source of ingest.sources) source.stop();
  ingest.pipeline.stop();
  await publishing.publisher.stop(grace);
  context.cluster.stop();
  await ingest.audit?.stop(grace);
  await publishing.stateLog.keepPositions();
}
