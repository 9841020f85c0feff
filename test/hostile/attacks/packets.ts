import type { Attack, Tenant, TenantPod } from '../attack.ts';
import { type PacketFields, packetLine } from '../packet-line.ts';
import { mark, oddTexts } from '../words.ts';

/** Packets that the node drops: from a Pod, and from a machine on the node's network. */
export const packetAttacks: readonly Attack[] = [
  // Each address would have to be looked up.
  sending('packet-scan', 20, (tenant, pod) => ({
    source: pod.address,
    destination: `10.${pick(tenant, 256)}.${pick(tenant, 256)}.${pick(tenant, 256)}`,
    port: 1 + pick(tenant, 65_535),
    in: pod.device,
  })),
  // The Pods of the other node, which are looked up in turn.
  sending('packet-neighbours', 20, (tenant, pod) => ({
    source: pod.address,
    destination: `10.77.2.${pick(tenant, 256)}`,
    port: 1 + pick(tenant, 65_535),
    in: pod.device,
  })),
  // Thousands of flows wait for one name, then for the next one.
  sending('packet-ports', 6000, (tenant, pod) => ({
    source: pod.address,
    destination: `10.200.${(Date.now() >> 16) & 255}.${(Date.now() >> 8) & 255}`,
    port: 1 + pick(tenant, 65_535),
    in: pod.device,
  })),
  sending('packet-flood', 2000, (tenant, pod) => ({
    source: `${1 + pick(tenant, 220)}.${pick(tenant, 256)}.${pick(tenant, 256)}.${pick(tenant, 256)}`,
    destination: pod.address,
    port: 1 + pick(tenant, 65_535),
    out: pod.device,
  })),
  // Each packet is from another Pod, and all need policies.
  sending('packet-lookups', 3, (tenant, pod) => ({
    source: `203.0.113.${pick(tenant, 250)}`,
    destination: pod.address,
    port: 1000 + pick(tenant, 1000),
    out: pod.device,
  })),
  sending('packet-six', 200, (tenant, pod) => ({
    source: `fd00:${pick(tenant, 65_536).toString(16)}::${pick(tenant, 65_536).toString(16)}`,
    destination: tenant.chance.pick(['fd00:77::1', 'ff02::1', '::1', `::ffff:${pod.address}`]),
    port: 1 + pick(tenant, 65_535),
    in: pod.device,
  })),
  // The source is the address of another Pod; the device shows whose packet it is.
  sending('packet-forgery', 50, (tenant, pod) => ({
    source: tenant.chance.pick(tenant.targets.addresses),
    destination: tenant.chance.pick(['203.0.113.99', pod.address]),
    port: 20_000 + pick(tenant, 1000),
    in: pod.device,
    prefix: tenant.chance.pick(['calico-drop: ', `${mark}: `, 'DROP by policy: ']),
  })),
  // Errors about packets of others. They count for the others only if they go back to the sender.
  sending('packet-errors', 50, (tenant, pod) => ({
    source: pod.address,
    destination: tenant.chance.pick(['203.0.113.99', '10.77.2.200']),
    port: 0,
    in: pod.device,
    protocol: 'ICMP',
    more: `TYPE=3 CODE=${tenant.chance.pick([1, 3, 4, 13])} [SRC=${tenant.chance.pick(tenant.targets.addresses)} DST=${tenant.chance.pick(tenant.targets.addresses)} LEN=60 TOS=0x00 PREC=0x00 TTL=63 ID=4711 DF PROTO=TCP SPT=40112 DPT=${tenant.chance.pick([6379, 8080, 5433])} WINDOW=64240 RES=0x00 SYN URGP=0 ] MTU=${pick(tenant, 1500)}`,
  })),
  {
    name: 'packet-words',
    async play(tenant) {
      while (!tenant.isOver) {
        const text = tenant.chance.pick(oddTexts).replaceAll('\n', '#012');
        const stamp = new Date().toISOString();
        tenant.log(
          `${stamp} hostile-node kernel: traps: ${text}[4711] general protection fault ip:7f sp:7f error:0\n`,
          `${stamp} hostile-node kernel: martian source 10.77.1.11 from 10.77.2.11, on dev ${mark}0\n`,
          `${stamp} hostile-node sshd[17]: Invalid user ${text} from 10.77.1.130 port 22\n`,
          `${stamp} hostile-node kernel: ${'x'.repeat(60_000)} ${mark}\n`,
          `${stamp} hostile-node ${mark}[1]: ${packetLine({ source: '10.77.1.11', destination: '10.77.2.11', port: 6379 })}`,
        );
        await tenant.wait(20);
      }
    },
  },
  {
    ...sending('agent-kills', 50, (tenant, pod) => ({
      source: `203.0.113.${pick(tenant, 250)}`,
      destination: pod.address,
      port: 1000 + pick(tenant, 1000),
      out: pod.device,
    })),
    killsAgent: true,
  },
];

/**
 * Logs packets of ninety Pods of the tenant, one Pod for each line: `lines` lines at once, ten times a second, but at
 * most 20,000.
 */
function sending(name: string, lines: number, make: (tenant: Tenant, pod: TenantPod) => PacketFields): Attack {
  let pods: readonly TenantPod[] = [];
  return {
    name,
    prepare: async (tenant) => void (pods = await tenant.runPods(90)),
    async play(tenant) {
      while (!tenant.isOver) {
        tenant.log(...Array.from({ length: lines }, () => packetLine(make(tenant, tenant.chance.pick(pods)))));
        await tenant.wait(Math.max(100, lines / 20));
      }
    },
  };
}

function pick(tenant: Tenant, end: number): number {
  return tenant.chance.number(end);
}
