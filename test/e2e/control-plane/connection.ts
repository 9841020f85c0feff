import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';
import { Agent, request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Outcome, outcomeWith } from '../outcome.ts';

const REQUEST_WITHIN_MS = 30_000;
/**
 * The API server closes a connection that was idle for 90 s, so a connection this old is not used for another request.
 */
const IDLE_MS = 60_000;

/** The data by which another process talks to a running control plane. */
export interface Address {
  readonly server: string;
  /** PEM of the certificate authority that signed the server's certificate. */
  readonly certificateAuthority: string;
  readonly adminToken: string;
  readonly adminKubeconfig: string;
  readonly kubectlPath: string;
  readonly kubeProxyPath: string;
  /** The folder of the servers' logs and kubeconfigs, removed with the control plane. */
  readonly folder: string;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export interface RequestOptions {
  readonly body?: unknown;
  /** Default: the administrator's. */
  readonly token?: string;
  /** Default: `application/json`; of PATCH `application/merge-patch+json`. */
  readonly contentType?: string;
}

export interface KubectlOptions {
  readonly input?: string;
  /** Default: the administrator's. */
  readonly kubeconfig?: string;
}

export type Connection = ReturnType<typeof connect>;

/** The functions that go with an address, for a process that did not start the control plane itself. */
export function connect(address: Address) {
  const { server, certificateAuthority, adminToken, adminKubeconfig, kubectlPath, folder } = address;
  const agent = new Agent({ keepAlive: true, timeout: IDLE_MS, ca: certificateAuthority });
  /** The real kubectl, as the administrator by default; resolves whatever its exit code. */
  const kubectl = (
    args: readonly string[],
    { input = '', kubeconfig = adminKubeconfig }: KubectlOptions = {},
  ): Promise<Outcome> =>
    outcomeWith(
      spawn(kubectlPath, ['--kubeconfig', kubeconfig, '--cache-dir', join(folder, 'kubectl-cache'), ...args]),
      input,
    );
  /** The same; resolves to its output, and rejects with its error output unless it exits with 0. */
  const succeed = async (args: readonly string[], options?: KubectlOptions): Promise<string> => {
    const { code, stdout, stderr } = await kubectl(args, options);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
    return stdout;
  };

  return {
    ...address,
    /** The plain data alone, to hand to another process. */
    address,
    kubectl,
    succeed,
    /** Creates or changes objects by `kubectl apply`. */
    apply: (...items: readonly object[]): Promise<string> =>
      succeed(['apply', '-f', '-'], { input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }) }),
    /** One call to the API server; resolves whatever its status. `path` starts with `/api`. */
    request: (method: string, path: string, { body, token = adminToken, contentType }: RequestOptions = {}) =>
      new Promise<Answer>((resolve, reject) => {
        const content = body === undefined ? '' : JSON.stringify(body);
        const usual = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
        const headers = {
          authorization: `Bearer ${token}`,
          accept: 'application/json',
          'content-type': contentType ?? usual,
          // Node.js sends no content-length with DELETE, and the server would take the content for the next request.
          'content-length': Buffer.byteLength(content),
        };
        const signal = AbortSignal.timeout(REQUEST_WITHIN_MS);
        const call = httpsRequest(`${server}${path}`, { method, agent, headers, signal }, (response) => {
          text(response).then((answer) => resolve({ status: response.statusCode ?? 0, body: parse(answer) }), reject);
        });
        call.on('error', reject);
        call.end(content);
      }),
    /**
     * Writes a kubeconfig for `token`; returns its path. `at`: where its user reaches the server, by default as this
     * process does.
     */
    async writeKubeconfig(name: string, token: string, at = server): Promise<string> {
      const path = kubeconfigPath(folder, name);
      // Replaced in one step, because a program of another test file may be reading it.
      const unfinished = `${path}.${randomUUID()}`;
      await writeFile(unfinished, kubeconfigText(at, certificateAuthority, token), { mode: 0o600 });
      await rename(unfinished, path);
      return path;
    },
  };
}

export function kubeconfigPath(folder: string, name: string): string {
  return join(folder, `${name}.kubeconfig`);
}

// JSON, which is YAML too.
function kubeconfigText(server: string, certificateAuthority: string, token: string): string {
  const authority = Buffer.from(certificateAuthority).toString('base64');
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'e2e', cluster: { server, 'certificate-authority-data': authority } }],
    users: [{ name: 'e2e', user: { token } }],
    contexts: [{ name: 'e2e', context: { cluster: 'e2e', user: 'e2e' } }],
    'current-context': 'e2e',
  });
}

// /readyz and some refusals are plain text.
function parse(answer: string): unknown {
  try {
    return JSON.parse(answer);
  } catch {
    return answer;
  }
}
