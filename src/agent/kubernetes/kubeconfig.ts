import { existsSync, readFileSync } from 'node:fs';
import { delimiter } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import type { Cluster, Context } from '@kubernetes/client-node/dist/config_types.js';
import { isLabel } from '../../base/platform/api-names.ts';
import { isHttpUrl } from '../../base/platform/address.ts';
import { reasonOf } from '../../base/platform/system-error.ts';
import type { Access, Credentials } from './http.ts';

/** Options of kubectl that override the kubeconfig. */
export interface UserFlags {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly cluster?: string | undefined;
  readonly user?: string | undefined;
  readonly server?: string | undefined;
  /** A file with certificates. */
  readonly certificateAuthority?: string | undefined;
  readonly insecureSkipTlsVerify?: boolean | undefined;
  readonly token?: string | undefined;
  readonly as?: string | undefined;
  readonly asGroups?: readonly string[] | undefined;
  readonly asUid?: string | undefined;
}

const reloadInterval = 5000;

/** Reads `path`, or else the files that kubectl reads. Throws an error with the path of a file that cannot be used. */
export function readKubeconfig(path: string | undefined): Access {
  const read = (): Access => accessOf(loadKubeconfig(path), path);
  let access = read();
  let loaded = performance.now();
  return {
    get server() {
      return access.server;
    },
    authenticate: async () => await access.authenticate(),
    reload() {
      if (performance.now() - loaded < reloadInterval) return;
      loaded = performance.now();
      try {
        access = read();
      } catch {
        // The file may be being replaced at this moment, so keep the old access.
      }
    },
  };
}

/** Returns the access that the flags choose, and the namespace of the context. Throws an error that says what cannot be used. */
export function readUserAccess(flags: UserFlags): Access & { readonly namespace: string } {
  const { kubeconfig, context, cluster, user, token, as, asGroups = [], asUid } = flags;
  const config = loadKubeconfig(kubeconfig);
  const named = context ?? config.getCurrentContext();
  const found = config.getContextObject(named);
  if (context !== undefined && found === null)
    throw new Error(`--context ${context}: the kubeconfig has no such context`);
  if (cluster !== undefined && config.getCluster(cluster) === null)
    throw new Error(`--cluster ${cluster}: the kubeconfig has no such cluster`);
  if (user !== undefined && config.getUser(user) === null)
    throw new Error(`--user ${user}: the kubeconfig has no such user`);
  const place = config.getCluster(cluster ?? found?.cluster ?? '');
  const who = config.getUser(user ?? found?.user ?? '');
  const identity = token === undefined ? (who ?? { name: 'none' }) : { name: 'token', token };
  const own = new KubeConfig();
  if (place !== null)
    own.loadFromClusterAndUser(placeWith(place, flags), {
      ...identity,
      ...(as !== undefined && { impersonateUser: as }),
    });
  checkFiles(own, flags);
  const access = accessOf(own, kubeconfig);
  const groups = asGroups.length > 0 ? { 'impersonate-group': [...asGroups] } : {};
  const uid = asUid === undefined ? {} : { 'impersonate-uid': asUid };
  return {
    server: access.server,
    namespace: namespaceIn(found),
    async authenticate() {
      const given = await access.authenticate();
      return { ...given, headers: { ...given.headers, ...groups, ...uid } };
    },
  };
}

/** The library reads these files with the first request, and its errors do not say whose they are. */
function checkFiles(config: KubeConfig, { certificateAuthority }: UserFlags): void {
  const [cluster, user] = [config.getCurrentCluster(), config.getCurrentUser()];
  for (const file of [cluster?.caFile, user?.certFile, user?.keyFile]) {
    if (!file) continue;
    try {
      readFileSync(file);
    } catch (error) {
      const whose = file === certificateAuthority ? '--certificate-authority ' : '';
      throw new Error(`${whose}${file}: cannot be used: ${reasonOf(error)}`, { cause: error });
    }
  }
}

/** The namespace of the context that the flags choose. An unusable kubeconfig is reported when the connection is made. */
export function contextNamespace({ kubeconfig, context }: UserFlags): string {
  try {
    const config = loadKubeconfig(kubeconfig);
    return namespaceIn(config.getContextObject(context ?? config.getCurrentContext()));
  } catch {
    return namespaceIn(null);
  }
}

/** The namespace becomes part of a path, so only a valid name is accepted. */
function namespaceIn(context: Context | null): string {
  const namespace = context?.namespace ?? 'default';
  return isLabel(namespace) ? namespace : 'default';
}

/** For completing the options that choose among them. Throws an error if the kubeconfig cannot be used. */
export function kubeconfigNames(path: string | undefined): Record<'CONTEXT' | 'CLUSTER' | 'USER', string[]> {
  const config = loadKubeconfig(path);
  const [CONTEXT, CLUSTER, USER] = [config.getContexts(), config.getClusters(), config.getUsers()].map((all) =>
    all.map(({ name }) => name),
  ) as [string[], string[], string[]];
  return { CONTEXT, CLUSTER, USER };
}

function placeWith(place: Cluster, flags: UserFlags): Cluster {
  const { server = place.server, certificateAuthority, insecureSkipTlsVerify = false } = flags;
  const skipTLSVerify = insecureSkipTlsVerify || place.skipTLSVerify;
  const { caData, caFile, ...others } = place;
  const ca =
    certificateAuthority === undefined ? { caData, caFile } : { caData: undefined, caFile: certificateAuthority };
  const given = Object.fromEntries(Object.entries(ca).filter(([, value]) => value));
  return withoutTls({ ...others, server, skipTLSVerify, ...given });
}

function loadKubeconfig(path: string | undefined): KubeConfig {
  const config = new KubeConfig();
  try {
    if (path === undefined) loadDefault(config);
    else config.loadFromFile(path);
  } catch (error) {
    const { path: file = 'the kubeconfig' } = error as NodeJS.ErrnoException;
    // Further lines of the message quote the file's text, so only the first one is used.
    throw new Error(`${path ?? file}: cannot be used: ${reasonOf(error).split('\n', 1)[0]}`, { cause: error });
  }
  config.clusters = config.clusters.map(withoutTls);
  return config;
}

/** The library refuses a server without TLS, such as kubectl proxy, unless its certificate need not be verified. */
function withoutTls(cluster: Cluster): Cluster {
  return cluster.server.startsWith('http:') ? { ...cluster, skipTLSVerify: true } : cluster;
}

/** Like kubectl: missing files in KUBECONFIG are left out, and the first of two values with one name counts. */
function loadDefault(config: KubeConfig): void {
  const files = (process.env['KUBECONFIG'] ?? '').split(delimiter).filter((file) => file !== '' && existsSync(file));
  // If all files are missing, the library reports the first.
  if (files.length === 0) return config.loadFromDefault();
  const parts = files.map((file) => {
    const part = new KubeConfig();
    part.loadFromFile(file);
    return part;
  });
  config.loadFromOptions({
    clusters: firstOfEachName(parts.flatMap(({ clusters }) => clusters)),
    users: firstOfEachName(parts.flatMap(({ users }) => users)),
    contexts: firstOfEachName(parts.flatMap(({ contexts }) => contexts)),
    currentContext: parts.map(({ currentContext }) => currentContext).find((name) => name) ?? '',
  });
}

function firstOfEachName<Named extends { readonly name: string }>(all: readonly Named[]): Named[] {
  return [...new Map(all.toReversed().map((each) => [each.name, each])).values()].toReversed();
}

function accessOf(config: KubeConfig, path: string | undefined): Access {
  const cluster = config.getCurrentCluster();
  if (cluster === null)
    throw new Error(
      `${path ?? 'kubeconfig'}: its current context names no cluster; choose one: kubectl config use-context NAME`,
    );
  if (path === undefined && cluster.server === 'http://localhost:8080')
    throw new Error(
      'no API server is known: this is not a Pod with a ServiceAccount, and there is no kubeconfig (set KUBECONFIG)',
    );
  if (!isHttpUrl(cluster.server))
    throw new Error(
      `${path ?? 'kubeconfig'}: server ${cluster.server} of cluster ${cluster.name}: must be a URL such as https://10.0.0.1:6443`,
    );
  return {
    server: cluster.server,
    async authenticate() {
      const options: Credentials = {};
      await config.applyToHTTPSOptions(options);
      const { agent, ...rest } = options;
      // The library's own agent does not keep connections open, so only the agent for a proxy is used.
      return cluster.proxyUrl === undefined ? rest : { ...rest, agent };
    },
  };
}
