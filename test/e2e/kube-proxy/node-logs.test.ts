import { appendFileSync, copyFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type AgentRig, createAgentRig, type StoredEvent } from '../agent-rig.ts';
import { connect } from '../control-plane/connection.ts';
import { startJournald } from '../journal/rig.ts';
import { createStage, fight, type Stage } from './stage.ts';
import type { SceneOptions } from './scene.ts';
import { createPublished, failuresIn, gist, type Published, typesOf } from './published.ts';

/** A real kube-proxy whose lines get into no log of a container: into a file, or into a real journal. */

const connection = connect(inject('controlPlane'));
let rig: AgentRig;
let published: Published;
let stage: Stage;

beforeAll(async () => {
  rig = await createAgentRig(connection);
  published = createPublished(connection, rig);
  stage = createStage(connection, rig);
});
afterAll(() => rig.killAll());

const code = 'Warning KN102 ServiceChainMissing';

/** A journal has what the kernel logged of the whole machine, too: tables that other tests have filled lately. */
function ofProxy(events: readonly StoredEvent[]): StoredEvent[] {
  return events.filter(({ message }) => message.includes('[KN102]'));
}

describe.concurrent('the log of kube-proxy is', () => {
  test('a file that logrotate copies and truncates, as on GKE, makes an Event on its Pod, too', async (context) => {
    const path = join(rig.newFolder(), 'kube-proxy.log');
    const writesTo = (): { write: (line: string) => void } => ({ write: (line) => appendFileSync(path, `${line}\n`) });
    const { name, proxyPod, failures } = await stage.play(
      context,
      'log-file',
      121,
      { retry: 2, writesTo },
      async (here) => {
        const stateDir = rig.newFolder();
        const sources = `program:kube-proxy=${path},containers`;
        const agent = await stage.startAgent(context, here, { sources, stateDir });
        await fight(here);
        await published.until('default', (all) => failuresIn(all) === 3, here.name);
        await agent.kill();
        copyFileSync(path, `${path}.1`);
        truncateSync(path);
        await stage.startAgent(context, here, { sources, stateDir });
        await here.fail();
      },
    );
    expect(failures()).toBe(4);
    for (const [namespace, object] of [
      ['kube-system', proxyPod],
      ['default', name],
      [name, 'db'],
    ] as const) {
      const events = await published.until(namespace, (all) => failuresIn(all) === 4, object);
      expect(gist(events)).toEqual([code]);
    }
  }, 300_000);

  test('a file and the log of its container, as on kops: each failure counts once', async (context) => {
    const path = join(rig.newFolder(), 'kube-proxy.log');
    const writesTo: SceneOptions['writesTo'] = (container) => ({
      write(line) {
        appendFileSync(path, `${line}\n`);
        container.write(line);
      },
    });
    const { name, failures } = await stage.play(context, 'log-twice', 122, { retry: 2, writesTo }, async (here) => {
      await stage.startAgent(context, here, { sources: `program:kube-proxy=${path},containers` });
      await fight(here);
    });
    expect(failures()).toBe(3);
    const events = await published.until('default', (all) => failuresIn(all) >= 3, name);
    expect(failuresIn(events)).toBe(3);
  }, 300_000);

  test('the journal of k3s, of which kube-proxy is a part: Events on the Node and the Service, also over a restart', async (context) => {
    const journald = await startJournald();
    context.onTestFinished(journald.stop);
    const unit = await journald.startUnit('k3s.service');
    context.onTestFinished(unit.stop);
    const stranger = await journald.startUnit('other.service');
    context.onTestFinished(stranger.stop);
    const logrus = 'time="2026-11-21T10:00:00Z" level=error msg="Failed to perform list: dial tcp 10.0.0.1:443"';
    const options: Omit<SceneOptions, 'podLogs'> = {
      retry: 2,
      withoutPod: true,
      writesTo: () => ({
        write(line) {
          // Neither is kube-proxy: what k3s says for itself between records, and another service with the same words.
          if (/^[IWEF]\d{4} /.test(line)) unit.write(logrus);
          stranger.write(line);
          unit.write(line);
        },
      }),
    };
    const { name, failures } = await stage.play(context, 'log-journal', 123, options, async (here) => {
      const stateDir = rig.newFolder();
      const agent = await stage.startAgent(context, here, { sources: `journal:${journald.directory}`, stateDir });
      await fight(here);
      await published.until('default', (all) => failuresIn(ofProxy(all)) === 3, here.name);
      await agent.kill();
      await here.fail();
      await stage.startAgent(context, here, { sources: `journal:${journald.directory}`, stateDir });
    });
    expect(failures()).toBe(4);
    const events = ofProxy(await published.until('default', (all) => failuresIn(ofProxy(all)) === 4, name));
    expect(gist(events)).toEqual([code]);
    expect(await published.describe('node', name)).toMatch(/Warning +ServiceChainMissing .*\[KN102\]/);
    expect(await published.eventsFor(name, 'service/db')).toMatch(/Warning +ServiceChainMissing +Service\/db /);
    expect(typesOf(events)).toEqual({ [`Node/${name}`]: 'Warning' });
  }, 300_000);
});
