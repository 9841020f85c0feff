import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject } from 'vitest';
import type { Millis } from '../../../src/model/log-line.ts';
import { createAgentRig, podObject, type StoredEvent, sumOf } from '../agent-rig.ts';
import { connect } from '../control-plane/connection.ts';
import type { KubernetesObject } from '../control-plane/creatable.ts';
import { createObjects } from '../control-plane/objects.ts';
import { type Fault, type PodName, pods, type Scene } from './fault.ts';
import { type Answer, certificateFor } from './proxy.ts';
import { elsewhere, type PublishedReplicas, type Replicas, startReplicas } from './replicas.ts';
import { testFaults } from './suite.ts';

/**
 * The shared directory away, ill or lying: two real replicas, each agent with proxies of its own in front of them. Packets come from
 * Pods of another node, which the directory alone can name; each Pod has a peer of its own, so that no answer is remembered.
 */

let replicas: Replicas;

beforeAll(async () => {
  const controlPlane = connect(inject('controlPlane'));
  const { newFolder } = await createAgentRig(controlPlane);
  replicas = await startReplicas(controlPlane, newFolder);
});
afterAll(() => replicas?.stop());

interface Row {
  readonly title: string;
  readonly begin: (replicas: PublishedReplicas, scene: Scene) => unknown;
  readonly end?: (replicas: PublishedReplicas) => unknown;
  /** The agent has an answer to whose an address is while it lasts. */
  readonly known?: true;
  /** It shows as soon as the agent reads the folder again, not at the next look-up. */
  readonly later?: true;
  readonly check?: Fault['check'];
}

const peerOf = ({ subnet }: Pick<Scene, 'subnet'>, pod: PodName): string => `${subnet}.${101 + pods.indexOf(pod)}`;

/** Requests of an agent for as many addresses as it may ask for at once; replicas that fail rest, twice as long each time. */
const fewRequests = 30;

/** Addresses of no Pod, each of which has to be looked up. */
async function ask(scene: Scene, times: number): Promise<void> {
  for (let each = 0; each < times; each++) {
    const number = 120 + (counters.get(scene.node) ?? 0);
    counters.set(scene.node, number - 119);
    await scene.dropBetween(`${scene.subnet}.${number}`, '203.0.113.10');
  }
}
const counters = new Map<string, number>();

/** About as often as an agent may look up addresses in the long run. */
const askInterval: Millis = 4000;

/** An agent reads the files of the folder again after that long. */
const folderAge: Millis = 10_000;

/** Drops packets of a peer now and then, until the agent knows whose its address is: then the peer has an Event of its own. */
async function untilNamed(scene: Scene, pod: PodName): Promise<void> {
  const deadline = performance.now() + 90_000;
  for (;;) {
    await scene.dropBetween(peerOf(scene, pod), '203.0.113.10');
    await delay(askInterval);
    if ((await scene.rig.events(scene.namespace, peerNameOf(pod))).length > 0) return;
    if (performance.now() > deadline) throw new Error(`${peerNameOf(pod)} has no Event after 90 s`);
  }
}

function fault({ title, begin, end = (own) => own.heal(), known, later, check }: Row): Fault {
  let own: PublishedReplicas;
  let before: number;
  return {
    title,
    problems: known === true ? [] : ['directory'],
    // A replica has 0.9 s to answer, for which other work may leave it no time.
    tolerated: known === true ? ['directory'] : [],
    goesOn: true,
    // The first two need no look-up: their packets are counted before the agent has asked anything.
    senderOf: (scene, pod) => (pod === 'before' || pod === 'steady' ? '203.0.113.9' : peerOf(scene, pod)),
    async settings(scene) {
      await createObjects(scene.controlPlane, { items: pods.map((pod) => peer(scene, pod)) });
      for (const pod of pods) await replicas.untilKnown(peerOf(scene, pod));
      own = await replicas.open(scene.rig.newFolder());
      scene.atEnd(own.stop);
      return { POD_LOOKUPS: 'directory', DIRECTORY: own.folder };
    },
    async begin(scene) {
      await untilNamed(scene, 'before');
      before = own.asked();
      await begin(own, scene);
      if (later === true) await delay(folderAge);
    },
    async lasts(scene) {
      if (known === true && check === undefined) await untilNamed(scene, 'during');
      await ask(scene, 10);
      expect(own.asked() - before).toBeLessThan(fewRequests);
    },
    async end(scene) {
      await end(own);
      await untilNamed(scene, 'after');
    },
    check(scene, events) {
      expect(messageOn(events, 'after')).toContain(`/${peerNameOf('after')} (`);
      check?.(scene, events);
      if (known !== true) expect(messageOn(events, 'during')).not.toContain(peerNameOf('during'));
    },
  };
}

const peerNameOf = (pod: PodName): string => `peer-of-${pod}`;

function peer(scene: Scene, pod: PodName): KubernetesObject {
  const { namespace } = scene;
  return podObject({ namespace, name: peerNameOf(pod), node: elsewhere, addresses: [peerOf(scene, pod)] });
}

function messageOn(events: readonly StoredEvent[], pod: PodName): string {
  return events.find(({ involvedObject }) => involvedObject.name === pod)?.message ?? '';
}

/** Only the API server knows that there is no such Pod. */
function expectBelieved(_: Scene, events: readonly StoredEvent[]): void {
  expect(messageOn(events, 'during')).toContain('/never-was (');
}

function expectInvented(scene: Scene, events: readonly StoredEvent[]): void {
  expectBelieved(scene, events);
  expect(sumOf([...events], 'never-was')).toBeGreaterThan(0);
}

/** A Pod that the API server does not have, with the address that was asked for. */
const inventing =
  (namespace: string): Answer =>
  ({ path, response }) => {
    const addresses = [decodeURIComponent(path.split('/').at(-1) ?? '')];
    const pod = {
      namespace,
      name: 'never-was',
      uid: '0b4d7a4e-0000-4000-8000-000000000000',
      node: elsewhere,
      addresses,
    };
    response.end(JSON.stringify({ pods: [pod] }));
  };

testFaults({ name: 'directory', subnet: '10.118' }, [
  fault({
    title: 'both replicas are away, and others come',
    begin: (own) => own.replace(),
    end: (own) => own.publish(),
  }),
  fault({
    title: 'one replica hangs: the other names every peer',
    // The one that the agent asks as long as it answers.
    begin: ({ proxies }) => proxies.find(({ asked }) => asked.length > 0)?.fail(() => {}),
    known: true,
  }),
  fault({
    title: 'both replicas answer a Pod that does not exist: the Event is written all the same',
    begin: (own, { namespace }) => own.fail(inventing(namespace)),
    known: true,
    check: expectInvented,
  }),
  fault({
    title: 'both replicas answer a Pod in a namespace that does not exist: its Event is given up',
    begin: (own) => own.fail(inventing('never-was')),
    known: true,
    check: expectBelieved,
  }),
  fault({
    title: 'the certificates of both replicas have expired',
    begin(own) {
      for (const proxy of own.proxies) proxy.present(certificateFor(2, -1));
      own.publish();
    },
    async end(own) {
      await own.replace();
      own.publish();
    },
  }),
  fault({
    title: 'the token is refused',
    begin: (own) => own.setToken(`${own.token.slice(0, -20)}${'A'.repeat(20)}`),
    end: (own) => own.setToken(own.token),
    later: true,
  }),
  fault({
    title: 'the ConfigMap is emptied',
    begin: (own) => own.publish({}),
    end: (own) => own.publish(),
    later: true,
  }),
]);
