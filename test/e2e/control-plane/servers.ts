import { generateKeyPairSync } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Server } from './supervisor.ts';

/** Where, in a control plane's folder, the API server keeps the certificate that it signs for itself. */
export const CERTIFICATES = 'certificates';

/** What the API server's command line names: the key of ServiceAccount tokens and the administrator's token. */
export async function writeCredentials(folder: string, adminToken: string): Promise<void> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await mkdir(join(folder, CERTIFICATES));
  await Promise.all([
    writeFile(join(folder, 'service-account.key'), privateKey.export({ type: 'pkcs8', format: 'pem' })),
    writeFile(join(folder, 'service-account.pub'), publicKey.export({ type: 'spki', format: 'pem' })),
    // token,user,uid,"groups"
    writeFile(join(folder, 'tokens.csv'), `${adminToken},admin,admin,"system:masters"\n`),
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

/** `withNodes`: Pods get a ServiceAccount's token, and kubelets are asked for logs under a Node's ExternalDNS. */
export function apiServer(
  command: string,
  folder: string,
  etcdPort: number,
  port: number,
  { withNodes = false, flags = [] as readonly string[] } = {},
): Server {
  const certificate = join(folder, CERTIFICATES, 'apiserver');
  return {
    name: 'kube-apiserver',
    command,
    args: [
      `--etcd-servers=http://127.0.0.1:${etcdPort}`,
      '--bind-address=127.0.0.1',
      '--advertise-address=127.0.0.1',
      `--secure-port=${port}`,
      `--cert-dir=${join(folder, CERTIFICATES)}`,
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${join(folder, 'service-account.pub')}`,
      `--service-account-signing-key-file=${join(folder, 'service-account.key')}`,
      `--token-auth-file=${join(folder, 'tokens.csv')}`,
      '--authorization-mode=RBAC',
      '--service-cluster-ip-range=10.96.0.0/12,fd00:10:96::/112',
      '--allow-privileged=true',
      // Loopback addresses are not valid in Endpoints, so it could only log errors about its own.
      '--endpoint-reconciler-type=none',
      // No controller makes default ServiceAccounts, without which the first admits no Pod, and none makes Nodes
      // ready, without which the taint of the second stays for ever.
      `--disable-admission-plugins=${withNodes ? '' : 'ServiceAccount,'}TaintNodesByCondition`,
      ...(withNodes
        ? [
            '--kubelet-preferred-address-types=ExternalDNS',
            // The one that it makes for itself is there before the first request to a kubelet.
            `--kubelet-client-certificate=${certificate}.crt`,
            `--kubelet-client-key=${certificate}.key`,
          ]
        : []),
      ...flags,
    ],
  };
}

/** Makes Pods of DaemonSets and Deployments, default ServiceAccounts and the ConfigMap with `certificateAuthority` (a file). */
export function controllerManager(
  command: string,
  folder: string,
  kubeconfig: string,
  certificateAuthority: string,
): Server {
  const controllers = [
    'daemonset-controller',
    'deployment-controller',
    'replicaset-controller',
    'serviceaccount-controller',
    'root-ca-certificate-publisher-controller',
    'garbage-collector-controller',
    'namespace-controller',
  ];
  return {
    name: 'kube-controller-manager',
    command,
    args: [
      `--kubeconfig=${kubeconfig}`,
      `--controllers=${controllers.join(',')}`,
      `--root-ca-file=${certificateAuthority}`,
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
