import { expect, vi } from 'vitest';
import { accountWith } from '../../agent-rig.ts';
import { rightsFile } from '../../../../src/agent/kubernetes/rights.ts';
import { type Rule, rulesIn, untilRights } from '../../granted.ts';
import { failing, refusedWrites } from '../answers.ts';
import type { Fault, Scene, FaultRows } from '../fault.ts';
import { certificateFor } from '../proxy.ts';

/**
 * Certificates, tokens and rights that expire and are renewed while the agent runs. Tokens and rights are those of the
 * real API server.
 */

const namespace = 'kube-netfilter-tailer';
const rbac = '/apis/rbac.authorization.k8s.io/v1';
const rules = rulesIn(rightsFile);

/** So that watches are requested again. */
const cut = failing(({ pass }) => pass());

/** Writes a kubeconfig that trusts the proxy; `source` is the kubeconfig with the token. */
const renewKubeconfig = ({ proxy, kubeconfig, rig }: Scene, source = rig.kubeconfig): unknown =>
  proxy.kubeconfigOf(source, kubeconfig);

export const credentialsRows: FaultRows = {
  name: 'credentials',
  subnet: '10.117',
  rows: [
    {
      title: 'another certificate authority, until the kubeconfig names it',
      begin: ({ proxy }) => proxy.present(certificateFor()),
      lasts: refusedWrites(0, 3),
      end: (scene) => renewKubeconfig(scene),
      problems: ['api server'],
    },
    tokenFault(),
    rightsFault({
      title: 'the rights to watch Pods, Nodes and Services are taken away, and granted again',
      resources: ['pods', 'nodes', 'services'],
      problems: ['right watch pods', 'right watch nodes', 'right watch services'],
      goesOn: true,
    }),
    rightsFault({
      title: 'all rights to Events are taken away, and granted again',
      resources: ['events'],
      problems: ['right create events', 'right patch events'],
      lasts: refusedWrites(403, 2),
    }),
  ],
};

/** The token is bound to a Secret, and ends with it as a Pod's token ends with the Pod. */
function tokenFault(): Fault {
  let secret: string;
  let token: string;
  return {
    title: 'the token ends, until the kubeconfig has another',
    async settings(scene) {
      secret = `token-of-${scene.node}`;
      await scene.controlPlane.succeed(['create', 'secret', 'generic', secret, '-n', namespace]);
      const bound = ['--bound-object-kind=Secret', `--bound-object-name=${secret}`];
      token = (
        await scene.controlPlane.succeed(['create', 'token', 'kube-netfilter-tailer', '-n', namespace, ...bound])
      ).trim();
      renewKubeconfig(scene, await scene.controlPlane.writeKubeconfig(scene.node, token));
      return {};
    },
    async begin(scene) {
      await scene.controlPlane.succeed(['delete', 'secret', secret, '-n', namespace]);
      const isRefused = async (): Promise<boolean> =>
        (await scene.controlPlane.request('GET', '/api/v1/nodes', { token })).status === 401;
      await vi.waitUntil(isRefused, { timeout: 60_000, interval: 200 });
      await cut(scene);
    },
    lasts: refusedWrites(401, 3),
    end: (scene) => renewKubeconfig(scene),
    problems: ['token'],
  };
}

/** An account that has the agent's rights, but for a while not those to `resources`. */
function rightsFault({ resources, ...fault }: Omit<Fault, 'begin'> & { resources: readonly string[] }): Fault {
  let token: string;
  const kept = rules.map((rule) => ({
    ...rule,
    resources: (rule.resources ?? []).filter((resource) => !resources.includes(resource)),
  }));
  const taken = rules.map((rule) => ({
    ...rule,
    resources: (rule.resources ?? []).filter((resource) => resources.includes(resource)),
  }));
  const change = async ({ controlPlane, node }: Scene, next: readonly Rule[], granted: boolean): Promise<void> => {
    const body = { rules: next.filter((rule) => rule.resources?.length !== 0) };
    const answer = await controlPlane.request('PATCH', `${rbac}/clusterroles/${node}`, { body });
    expect(answer).toMatchObject({ status: 200 });
    await untilRights(controlPlane, token, taken, granted);
  };
  return {
    ...fault,
    async settings(scene) {
      token = await accountWith(scene.controlPlane, scene.node, rules);
      renewKubeconfig(scene, await scene.controlPlane.writeKubeconfig(scene.node, token));
      return {};
    },
    async begin(scene) {
      await change(scene, kept, false);
      await cut(scene);
    },
    end: (scene) => change(scene, rules, true),
  };
}
