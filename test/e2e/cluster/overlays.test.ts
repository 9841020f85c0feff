/** The overlays and components of deploy/ on a real node: the Pod starts, has the rights that are promised and reads the log that it is for. */
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mkdtempSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { definitions } from '../../deploy/custom-resources.ts';
import { createAll, createDeploying } from '../deploying.ts';
import { agentOn, type AgentOptions, kubectl, NAMESPACE, removeAgents, rollOut } from './agents.ts';
import { connectCluster } from './cluster.ts';
import { podOf, startWorkloads, untilEvents } from './pods.ts';

const cluster = connectCluster(inject('cluster'));
const [node] = cluster.nodes;
const namespace = 'overlays-target';

/** The rights of the agent by `id` and /proc/PID/status: no capability, no way to more of them, system calls filtered. */
const restricted = { CapEff: '0000000000000000', CapBnd: '0000000000000000', NoNewPrivs: '1', Seccomp: '2' };
const privileged = { Seccomp: '0' };
/** CAP_SYS_PTRACE. */
const tracing = { CapEff: '0000000000080000', CapBnd: '0000000000080000', NoNewPrivs: '1', Seccomp: '2' };

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kube-netfilter-tailer-definitions-'));
  await createAll(cluster.controlPlane, createDeploying(cluster.controlPlane, folder), definitions);
  rmSync(folder, { recursive: true });
  await removeAgents(cluster);
  // One target for each overlay: an agent's first run also reads what the kernel logged before, and the ports of one
  // peer share an Event.
  const targets = ways.map(({ options }) => ({ namespace, name: `target-${options.overlay}`, node: node.name }));
  await startWorkloads(cluster, ...targets);
  // Ubuntu's log belongs to the user syslog and the group adm, and no other may read it.
  await node.run(['sh', '-c', 'touch /var/log/kern.log; chown 104:4 /var/log/kern.log; chmod 0640 /var/log/kern.log']);
  await node.run(['mkdir', '-p', '/var/lib/docker/containers', '/var/log/ulog', '/var/log/aws-routed-eni']);
  // Where systemd runs, it does this.
  await node.shell('mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing');
});

afterAll(async () => {
  await removeAgents(cluster);
  await kubectl(cluster, 'delete', 'namespace', namespace, '--wait=false');
  const names = definitions.map((each) => (each as { metadata: { name: string } }).metadata.name);
  await kubectl(cluster, 'delete', 'customresourcedefinitions', '--wait=false', ...names);
});

interface Way {
  readonly options: AgentOptions;
  readonly rights: Readonly<Record<string, string>>;
  /** Matches the agent's own log line about the kernel's log. */
  readonly reads: string;
  /** Scripts for the image's Node.js that have to fail or succeed in the container, and what they print. */
  readonly tries?: readonly (readonly [script: string, prints: string])[];
}

const reading = "Reading the kernel's log from";
const journal = `${reading} the journal in /run/log/journal`;

const ways: readonly Way[] = [
  {
    options: {
      overlay: 'journal',
      components:
        'admission-policy audit-file audit-opt-out calico-lookups conntrack-details live-drops node-condition pod-monitor shared-directory'.split(
          ' ',
        ),
    },
    rights: restricted,
    reads: journal,
    tries: [
      [
        `try { fs.writeFileSync('/host/proc/sys/net/netfilter/nf_conntrack_max', '1') } catch ({ code }) { console.log(code) }`,
        'EROFS',
      ],
      [
        `console.log(fs.readdirSync('/host/proc').join(), fs.readdirSync('/host/proc/sys/net').join())`,
        'self,sys netfilter',
      ],
      [`try { fs.readlinkSync('/host/proc/1/ns/net') } catch ({ code }) { console.log(code) }`, 'ENOENT'],
      // How many connections the node has, and whose they are.
      [
        `const text = (name) => fs.readFileSync('/host/proc/self/net/' + name, 'utf8'); console.log(parseInt(text('stat/nf_conntrack').split('\\n')[1], 16) > 0, text('nf_conntrack').includes(' dport=6443 '))`,
        'true true',
      ],
    ],
  },
  {
    options: { overlay: 'k3s', components: ['conntrack-owners', 'no-policies'] },
    rights: tracing,
    reads: journal,
    tries: [[`console.log(fs.readlinkSync('/host/proc/1/ns/net').slice(0, 5))`, 'net:[']],
  },
  { options: { overlay: 'eks', components: ['host-network'] }, rights: restricted, reads: journal },
  {
    options: { overlay: 'kern-log', components: ['docker-runtime', 'calico-flows'] },
    rights: restricted,
    reads: `${reading} /var/log/kern.log`,
    tries: [[`console.log(fs.statSync('/flows/flows.sock').isSocket())`, 'true']],
  },
  {
    options: { overlay: 'openshift', components: ['bpf-trace'] },
    rights: restricted,
    reads: journal,
    tries: [
      [
        `console.log(fs.readFileSync('/tracing/instances/kube-netfilter-tailer/events/bpf_trace/bpf_trace_printk/enable', 'latin1'))`,
        '1',
      ],
    ],
  },
  { options: { overlay: 'kmsg' }, rights: privileged, reads: '"sources":["/dev/kmsg","containers"]' },
];

test.each(ways.map((way) => ({ name: [way.options.overlay, ...(way.options.components ?? [])].join(' with '), way })))(
  '$name',
  async ({ way: { options, rights, reads, tries = [[`console.log('none')`, 'none']] } }) => {
    // Rolled out over the previous overlay: apart from its Pods, nothing of that is read here.
    await rollOut(cluster, { ...options, node: node.name });
    const agent = await agentOn(cluster, node.name);
    expect(await rightsOf()).toMatchObject(rights);
    expect(await kubectl(cluster, '-n', NAMESPACE, 'logs', agent)).toContain(reads);
    const scripts = tries.map(([script]) => `{ ${script} }`).join('\n');
    const printed = await kubectl(cluster, '-n', NAMESPACE, 'exec', agent, '--', 'node', '-e', scripts);
    expect(printed.trimEnd().split('\n')).toEqual(tries.map(([, prints]) => prints));

    const port = 20_000 + (randomBytes(2).readUInt16BE() % 10_000);
    const target = await podOf(cluster, namespace, `target-${options.overlay}`);
    const has = ({ message }: { message: string }): boolean => message.includes(`port ${port}/UDP`);
    await sendFromNode(target.address, port);
    const events = await untilEvents(cluster, namespace, target.name, (all) => all.some(has));
    expect(events.find(has)?.message).toContain(`from node ${node.name} `);
  },
);

/** Reads the rights of the agent's process, which on the node is the child of another process. */
async function rightsOf(): Promise<Record<string, string>> {
  const { stdout } = await node.shell('cat /proc/$(pgrep -of "kube-netfilter-tailer run")/status');
  return Object.fromEntries(stdout.split('\n').map((line) => line.split(/:\s*/, 2) as [string, string]));
}

/** Sends a packet from the node itself; the node's own rules log and drop it. */
async function sendFromNode(address: string, port: number): Promise<void> {
  const rule = `OUTPUT -d ${address} -p udp --dport ${port} -j`;
  await node.shell(
    `iptables -w -I ${rule} DROP; iptables -w -I ${rule} LOG --log-prefix "test-drop: "
    echo > /dev/udp/${address}/${port}
    iptables -w -D ${rule} DROP; iptables -w -D ${rule} LOG --log-prefix "test-drop: "`,
  );
}
