import { generateKeyPairSync } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Server } from './running.ts';

/** Where, in a control plane's folder, the API server keeps the certificate that it signs for itself. */
export const CERTIFICATES = 'certificates';

/** Writes the files that the API server's command line names: the key of ServiceAccount tokens, and the tokens of the administrator and of kubelets. */
export async function writeCredentials(
  folder: string,
  adminToken: string,
  nodes: ReadonlyMap<string, string> = new Map(),
): Promise<void> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await mkdir(join(folder, CERTIFICATES));
  await Promise.all([
    writeFile(join(folder, 'service-account.key'), privateKey.export({ type: 'pkcs8', format: 'pem' })),
    writeFile(join(folder, 'service-account.pub'), publicKey.export({ type: 'spki', format: 'pem' })),
    // token,user,uid,"groups"
    writeFile(
      join(folder, 'tokens.csv'),
      [
        `${adminToken},admin,admin,"system:masters"`,
        ...[...nodes].map(([name, token]) => `${token},system:node:${name},,"system:nodes"`),
        '',
      ].join('\n'),
    ),
  ]);
}

export function etcd(command: string, folder: string, port: number, peerPort: number): Server {
  const [client, peer] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peerPort}`];
  return {
    name: 'etcd',
    command,
    args: [
      `--data-dir=${join(folder, 'etcd')}`,
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      // Nothing here has to survive a power cut.
      '--unsafe-no-fsync',
    ],
  };
}

/**
 * `address`: where nodes reach it. It then listens on all addresses of its network. Without `address`, it serves tests
 * of the API alone, on 127.0.0.1.
 */
export function apiServer(
  command: string,
  folder: string,
  etcdPort: number,
  port: number,
  { address, flags = [] }: { readonly address: string | undefined; readonly flags?: readonly string[] },
): Server {
  const certificate = join(folder, CERTIFICATES, 'apiserver');
  return {
    name: 'kube-apiserver',
    command,
    args: [
      `--etcd-servers=http://127.0.0.1:${etcdPort}`,
      `--secure-port=${port}`,
      `--cert-dir=${join(folder, CERTIFICATES)}`,
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${join(folder, 'service-account.pub')}`,
      `--service-account-signing-key-file=${join(folder, 'service-account.key')}`,
      `--token-auth-file=${join(folder, 'tokens.csv')}`,
      '--service-cluster-ip-range=10.96.0.0/12,fd00:10:96::/112',
      '--allow-privileged=true',
      ...(address === undefined
        ? [
            '--bind-address=127.0.0.1',
            '--advertise-address=127.0.0.1',
            '--authorization-mode=RBAC',
            // Loopback addresses are not valid in Endpoints, so it could only log errors about its own.
            '--endpoint-reconciler-type=none',
            // No controller makes default ServiceAccounts, without which the first plug-in admits no Pod. No controller
            // makes Nodes ready, without which the taint of the second stays for ever.
            '--disable-admission-plugins=ServiceAccount,TaintNodesByCondition',
          ]
        : [
            `--advertise-address=${address}`,
            '--authorization-mode=Node,RBAC',
            '--enable-admission-plugins=NodeRestriction',
            // The names of nodes are not in a DNS.
            '--kubelet-preferred-address-types=InternalIP',
            // The certificate that it makes for itself exists before the first request to a kubelet.
            `--kubelet-client-certificate=${certificate}.crt`,
            `--kubelet-client-key=${certificate}.key`,
          ]),
      ...flags,
    ],
  };
}

/** `certificateAuthority`: the file that Pods get. */
export function controllerManager(
  command: string,
  folder: string,
  kubeconfig: string,
  certificateAuthority: string,
): Server {
  return {
    name: 'kube-controller-manager',
    command,
    args: [
      `--kubeconfig=${kubeconfig}`,
      `--root-ca-file=${certificateAuthority}`,
      '--allocate-node-cidrs=true',
      '--cluster-cidr=10.244.0.0/16',
      // So that tests with a lost node take seconds.
      '--node-monitor-grace-period=16s',
      '--leader-elect=false',
      // No port of the machine for health and metrics.
      '--secure-port=0',
      `--cert-dir=${folder}`,
    ],
  };
}

export function scheduler(command: string, folder: string, kubeconfig: string): Server {
  return {
    name: 'kube-scheduler',
    command,
    args: [`--kubeconfig=${kubeconfig}`, '--leader-elect=false', '--secure-port=0', `--cert-dir=${folder}`],
  };
}
