import { afterAll, beforeAll, describe, expect, inject, type TestContext, test } from 'vitest';
import type { AgentProcess } from '../agent-process.ts';
import { accountWith, type AgentRig, createAgentRig, type StoredEvent, untilMetric } from '../agent-rig.ts';
import { connect } from '../control-plane/connection.ts';
import type { Rule } from '../granted.ts';
import { installFelixConfigurations, removeFelixConfigurations, setFelixConfiguration } from './felix.ts';
import { createScene } from './scene.ts';
import { createPublished, failuresIn, gist, type Published } from './published.ts';

/** The same failures of kube-proxy are explained by what FelixConfiguration says, if it may be read. */

const connection = connect(inject('controlPlane'));
const patch =
  'kubectl patch felixconfiguration default --type=merge --patch=\'{"spec":{"bpfKubeProxyIptablesCleanupEnabled":false}}\'';
const diagnosed = 'Warning KN101, KN102 CalicoDeletesServiceChains';
const plain = 'Warning KN102 ServiceChainMissing';
let rig: AgentRig;
let published: Published;

beforeAll(async () => {
  rig = await createAgentRig(connection);
  published = createPublished(connection, rig);
});
afterAll(() => rig.killAll());

interface Outcome {
  agent: AgentProcess;
  proxyPod: string;
  events: readonly StoredEvent[];
}

function rule(resources: string[], verbs: string[]): Rule {
  return { apiGroups: [''], resources, verbs };
}

function missing(verb: string, resource: string): RegExp {
  return new RegExp(`^kube_netfilter_tailer_missing_permission\\{verb="${verb}",resource="${resource}"\\} 1$`, 'm');
}

/** Three failures with successes in between, and the Events on kube-proxy's Pod. */
async function fight(
  { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
  name: string,
  net: number,
  env: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const podLogs = rig.newFolder();
  const { proxyPod, fail, end } = await createScene(connection, name, net, { podLogs, retry: 2 });
  onTestFinished(end);
  const agent = rig.start({ NODE_NAME: name, SOURCES: 'containers', POD_LOGS: podLogs, ...env });
  onTestFinished(agent.kill);
  await agent.untilReady();
  for (let round = 0; round < 3; round++) await fail();
  const events = await published.until('kube-system', (all) => failuresIn(all) === 3, proxyPod);
  return { agent, proxyPod, events };
}

describe('of the group crd.projectcalico.org', () => {
  beforeAll(async () => {
    await installFelixConfigurations(connection);
    await setFelixConfiguration(connection, { bpfEnabled: true });
    await setFelixConfiguration(connection, { bpfKubeProxyIptablesCleanupEnabled: false }, 'node.incident-spared');
  });
  afterAll(() => removeFelixConfigurations(connection));

  test('it says why: the command that ends it', async (context) => {
    const name = 'incident-felix';
    const { proxyPod, events } = await fight(context, name, 102);
    expect(gist(events)).toEqual([diagnosed]);
    for (const text of [
      await published.describe('pod', proxyPod, '-n', 'kube-system'),
      await published.describe('node', name),
      await published.eventsFor(name, 'service/db'),
    ]) {
      expect(text).toContain(patch);
      expect(text).toContain('[KN101, KN102]');
    }
  });

  test('for this node alone the clean-up is off, so it is not felix', async (context) => {
    const { events } = await fight(context, 'incident-spared', 103);
    expect(gist(events)).toEqual([plain]);
    expect(events[0]?.message).not.toContain('kubectl patch');
  });

  test('without the rights to FelixConfigurations and EndpointSlices an incident is still published, and the missing rights are logged', async (context) => {
    const token = await accountWith(connection, 'no-felix', [
      rule(['pods', 'nodes', 'services'], ['list', 'watch']),
      rule(['events'], ['create', 'patch', 'get']),
    ]);
    const name = 'incident-forbidden';
    const { agent, events } = await fight(context, name, 108, {
      KUBECONFIG: await connection.writeKubeconfig('no-felix', token),
    });
    expect(gist(events)).toEqual([plain]);
    expect(events[0]?.message).toContain(' to get felixconfigurations.');
    expect(events[0]?.message).toContain(`${name}/db port 5432`);
    expect(events[0]?.message).not.toContain('Behind ');
    await untilMetric(agent, missing('get', 'felixconfigurations'));
    await untilMetric(agent, missing('list', 'endpointslices'));
  });
});

describe('of the group projectcalico.org alone', () => {
  beforeAll(async () => {
    await installFelixConfigurations(connection, 'projectcalico.org/v3');
    await setFelixConfiguration(connection, { bpfEnabled: true }, 'default', 'projectcalico.org/v3');
  });
  afterAll(() => removeFelixConfigurations(connection, 'projectcalico.org/v3'));

  test('it says why', async (context) => {
    const { events } = await fight(context, 'incident-v3', 109);
    expect(gist(events)).toEqual([diagnosed]);
    expect(events[0]?.message).toContain(patch);
  });
});
