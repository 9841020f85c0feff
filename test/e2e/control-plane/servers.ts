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

export function apiServer(command: string, folder: string, etcdPort: number, port: number): Server {
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
      // Loopback addresses are not valid in Endpoints, so it could only complain about its own.
      '--endpoint-reconciler-type=none',
      // No controller makes default ServiceAccounts, without which the first admits no Pod, and no kubelet makes Nodes
      // ready, without which the taint of the second stays for ever.
      '--disable-admission-plugins=ServiceAccount,TaintNodesByCondition',
    ],
  };
}
