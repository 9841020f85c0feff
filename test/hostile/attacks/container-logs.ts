import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Attack, Tenant } from '../attack.ts';
import { packetLine } from '../packet-line.ts';
import { mark, oddTexts } from '../words.ts';

/** The output of a tenant's containers, and the folders that the kubelet makes for them. */
export const containerLogAttacks: readonly Attack[] = [
  {
    name: 'log-folders',
    prepare: async (tenant) => {
      for (let index = 0; index < 3000; index++) container(tenant, index, tenant.chance.pick(names), 'started\n');
    },
    async play(tenant) {
      for (let index = 3000; !tenant.isOver; index++) {
        container(tenant, index, tenant.chance.pick(names), 'started\n');
        await tenant.wait(10);
      }
    },
  },
  {
    name: 'log-output',
    async play(tenant) {
      for (let turn = 0; !tenant.isOver; turn++) {
        const stamp = new Date().toISOString();
        const kernel = packetLine({ source: '10.77.1.11', destination: '10.77.2.11', port: 6379 });
        const records = [kernel.trimEnd(), ...oddTexts, JSON.stringify({ msg: kernel, transport: 'kernel' })];
        const lines = records.map((text) => `${stamp} stderr F ${text.replaceAll('\n', ' ')}\n`);
        for (const [index, name] of names.entries())
          container(tenant, index, name, lines.join('') + `${stamp} stdout P ${'z'.repeat(200_000)}\n`);
        await tenant.wait(100);
      }
    },
  },
];

/** Names of programs that are believed if the system runs them. */
const names = ['kube-proxy', 'calico-node', 'kernel', 'ulogd', mark];

function container(tenant: Tenant, index: number, name: string, text: string): void {
  const namespace = tenant.namespaces[index % tenant.namespaces.length] as string;
  const uid = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
  const folder = join(tenant.podLogs, `${namespace}_${mark}-${index}_${uid}`, name);
  mkdirSync(folder, { recursive: true });
  appendFileSync(join(folder, '0.log'), text);
}
