import { setTimeout as delay } from 'node:timers/promises';
import { connect, createMemory } from '../agent/cluster.ts';
import { createApiProblems, noProblems } from '../agent/problems.ts';
import { version } from '../agent/config/config.ts';
import {
  createAuthenticator,
  createCertificate,
  createPodWatch,
  createPublication,
  ownersIn,
  startDirectoryServer,
} from '../agent/directory/directory.ts';
import { hostAndPort } from '../base/platform/address.ts';
import type { Millis } from '../base/model/log-line.ts';
import { createSteadyClock } from '../base/platform/clock.ts';
import { createLogger, createRateLimitedLog } from '../agent/telemetry/logger.ts';
import { createMetrics, scrapeOf } from '../agent/telemetry/metrics.ts';
import { startServer } from '../agent/telemetry/server.ts';
import type { DirectoryOptions } from './options/directory-options.ts';

const day: Millis = 86_400_000;
/** The random spread keeps certificates of replicas from ending at the same time. */
const validity = { shortest: 90 * day, spread: 30 * day };
/** How long before the end of its certificate a replica becomes unhealthy, so that it is restarted. */
const restartBefore: Millis = 10 * day;

const housekeepingInterval: Millis = 30_000;
const earlyInterval: Millis = 1000;

/** It keeps only Pods and Nodes. */
const partOfMemory = 1 / 2;

/** Rejects if it cannot start. */
export async function runDirectory(options: DirectoryOptions, terminal: boolean, stop: AbortSignal): Promise<0> {
  const parts = await createParts(options, terminal);
  const { log, problems, watch, metrics, connection, clock } = parts;
  const { listen, podNamespace, podName, podAddress, configMap, account } = options;
  const until = clock.wall() + validity.shortest + Math.random() * validity.spread;
  const certificate = createCertificate(podAddress, clock.wall() - day, until);
  const server = await startDirectoryServer({
    address: listen,
    certificate,
    check: createAuthenticator(connection, `system:serviceaccount:${podNamespace}:${account}`, clock.now),
    ownersOf: (of) => (watch.synced ? ownersIn(watch.lists, of) : undefined),
    onAnswer: (result) => metrics.directoryAnswers.add(1, { result }),
    clock,
  });
  const publication = createPublication({
    connection,
    namespace: podNamespace,
    configMap,
    podName,
    replica: { host: podAddress, port: server.port, certificate: certificate.certificate },
    isThere: (name, at) =>
      watch.lists
        .podsByAddress(at)
        .some((pod) => pod.name === name && pod.namespace === podNamespace && pod.until === Infinity),
  });
  let published = false;
  const metricsServer = await startServer({
    setting: 'METRICS_ADDRESS',
    address: options.metricsAddress,
    isOfNode: (host) => watch.lists.endpoints.nodeOfHost(host) !== undefined,
    metrics: scrapeOf(metrics, undefined, () => watch.collect(metrics, clock)),
    health: {
      live: () => (until - clock.wall() > restartBefore ? [] : ['the certificate ends soon']),
      ready: () => [
        ...(watch.synced ? [] : ['Pods and Nodes are not listed yet']),
        ...(published ? [] : [`not published in the ConfigMap ${configMap} yet`]),
      ],
    },
  });
  const address = hostAndPort(podAddress, server.port);
  log.info({ version, address, metricsAddress: metricsServer.address, server: connection.server }, 'Started');
  watch.start();
  while (!stop.aborted) {
    watch.sweep();
    problems.settle();
    problems.settleMemory(watch.lists.memory.accounts);
    if (watch.synced && (await renew(options, parts, publication))) published = true;
    await delay(published ? housekeepingInterval : earlyInterval, undefined, { signal: stop }).catch(() => {});
  }
  watch.stop();
  await Promise.all([server.stop(), metricsServer.stop()]);
  log.info({}, 'Stopped');
  return 0;
}

async function createParts({ logLevel, kubeconfig, podName }: DirectoryOptions, terminal: boolean) {
  const clock = createSteadyClock();
  const log = await createLogger({ level: logLevel, terminal });
  const rateLimitedLog = createRateLimitedLog(log, clock);
  const metrics = createMetrics({ version });
  const counts = noProblems();
  const connection = await connect({ kubeconfig, who: `directory ${podName}`, metrics, counts, clock });
  const problems = createApiProblems(
    { log, rateLimitedLog, metrics, clock, server: () => connection.server, isListed: () => true },
    counts,
  );
  const watch = createPodWatch({
    connection,
    report: problems,
    clock,
    random: Math.random,
    memory: createMemory(partOfMemory, { onLeftOut: problems.leftOut, now: clock.now }),
  });
  return { clock, log, rateLimitedLog, metrics, connection, problems, watch };
}

async function renew(
  { podNamespace, configMap }: DirectoryOptions,
  { log, rateLimitedLog: { report, resolve } }: Awaited<ReturnType<typeof createParts>>,
  publish: () => Promise<boolean>,
): Promise<boolean> {
  try {
    if (await publish()) log.info({ configMap }, 'Published: agents can ask this replica');
    resolve('publish', 'The ConfigMap can be written again');
    return true;
  } catch (error) {
    const text = `The ConfigMap ${podNamespace}/${configMap} cannot be written: agents do not learn of this replica`;
    report('error', 'publish', { error }, text);
    return false;
  }
}
