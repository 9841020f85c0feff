import { describe, expect, test } from 'vitest';
import { nextPointer, type Pointed, pointerLimit, type Sufferer, sufferersOf } from '../../src/incidents/pointers.ts';
import { nine } from '../builders.ts';
import { sufferer } from './sufferer.ts';

const second = 1000;
const hour = 3_600_000;

describe('whom an incident hits', () => {
  test('restarting Pods come first, then unready ones', () => {
    const pods = [
      sufferer('well'),
      sufferer('unready', { trouble: 'unready' }),
      sufferer('restarting', { trouble: 'restarting' }),
    ];
    expect(sufferersOf(pods).map(({ name }) => name)).toEqual(['restarting', 'unready', 'well']);
  });

  test('neither Pods on the host’s network nor those that have ended', () => {
    const pods = [sufferer('host', { hostNetwork: true }), sufferer('done', { running: false }), sufferer('web')];
    expect(sufferersOf(pods).map(({ name }) => name)).toEqual(['web']);
  });
});

describe('when each is told', () => {
  test('Pods in trouble a second apart, the others a quarter of a minute', () => {
    const pods = sufferersOf([
      sufferer('a', { trouble: 'restarting' }),
      sufferer('b', { trouble: 'unready' }),
      sufferer('c'),
      sufferer('d'),
    ]);
    expect(tellAll(pods, nine + 60 * second)).toEqual([
      ['a', 1],
      ['b', 2],
      ['c', 17],
      ['d', 32],
    ]);
  });

  test('one that gets into trouble meanwhile is next', () => {
    const pointed = { 'uid-of-a': told('a', nine) };
    const pods = sufferersOf([sufferer('a'), sufferer('b'), sufferer('z', { trouble: 'restarting' })]);
    expect(nextPointer(pods, pointed, nine)).toMatchObject({ pod: { name: 'z' }, at: nine + second });
  });

  test('not more than the limit, all of them within minutes', () => {
    const pods = sufferersOf(Array.from({ length: 110 }, (_, i) => sufferer(`pod-${i}`)));
    const tellings = tellAll(pods, nine + hour / 2);
    expect(tellings).toHaveLength(pointerLimit);
    expect(tellings.at(-1)?.[1]).toBe(300);
  });

  test('each again after an hour, when its Event is gone', () => {
    const pods = sufferersOf([sufferer('a'), sufferer('b')]);
    expect(tellAll(pods, nine + hour + 60 * second).map(([name]) => name)).toEqual(['a', 'b', 'a', 'b']);
  });

  test('a Pod that is gone keeps its place for an hour; then another is told in place of it', () => {
    const pointed = Object.fromEntries(
      Array.from({ length: pointerLimit }, (_, i) => [`uid-of-gone-${i}`, told(`gone-${i}`, nine + i * second)]),
    );
    const pods = sufferersOf([sufferer('later', { trouble: 'unready' })]);
    expect(nextPointer(pods, pointed, nine)).toMatchObject({
      pod: { name: 'later' },
      at: nine + hour,
      inPlaceOf: 'uid-of-gone-0',
    });
    delete pointed['uid-of-gone-7'];
    expect(nextPointer(pods, pointed, nine)).toMatchObject({ at: nine + 20 * second, inPlaceOf: undefined });
  });

  test('nobody where nobody suffers', () => {
    expect(nextPointer([], {}, nine)).toBeUndefined();
  });
});

/** Name and seconds after nine o'clock of each that is told until then. */
function tellAll(pods: readonly Sufferer[], until: number): [string, number][] {
  const pointed: Record<string, Pointed> = {};
  const tellings: [string, number][] = [];
  for (let step = nextPointer(pods, pointed, nine); step && step.at <= until; step = nextPointer(pods, pointed, nine)) {
    const { pod, at } = step;
    delete pointed[pod.uid];
    pointed[pod.uid] = told(pod.name, at);
    tellings.push([pod.name, (at - nine) / second]);
  }
  return tellings;
}

function told(name: string, at: number): Pointed {
  const object = { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name, uid: `uid-of-${name}` };
  return { object: { ...object, resourceVersion: undefined }, troubled: false, at };
}
