import type { Millis } from '../../../model/log-line.ts';
import { ago } from '../ago.ts';
import { answersOf, type Check } from '../check.ts';
import type { KeptState, StateFolder } from '../kept-state.ts';

export interface StateOptions {
  folder: string;
  node: string;
  lookAtFolder: (path: string) => StateFolder;
  readKeptState: (folder: string) => KeptState;
  now: () => Millis;
}

/** A state is some 100 KB, with thousands of problems 10 MB; its log takes a few times that. */
const enough = 32 * 1024 * 1024;

/** Whether the agent can keep what it has counted, and what it has kept. */
export function checkState({ folder: path, node, lookAtFolder, readKeptState, now }: StateOptions): Check {
  const { ok, problem, warning } = answersOf('state');
  const folder = lookAtFolder(path);
  if (folder.kind === 'refused')
    return problem(
      folder.reason,
      `let it be written to: a hostPath or volume at ${path}, writable for the user of the agent`,
    );
  if (folder.free < enough)
    return problem(
      `only ${Math.floor(folder.free / 1e6)} MB are free in ${path}`,
      'make room: counts are lost when the agent ends',
    );
  if (folder.kind === 'missing') return ok(`${path} is not there yet; it will be made`);

  const state = readKeptState(path);
  switch (state.kind) {
    case 'none':
      return ok(`${path} can be written to; nothing is kept there yet`);
    case 'unreadable':
      return problem(
        `${path} cannot be read: ${state.reason}`,
        'let the user of the agent read it, or remove it: counting begins again then',
      );
    case 'unusable':
      return warning(
        `${path} cannot be used: ${state.reason}`,
        'nothing needs to be done: the agent will set it aside and begin again',
      );
    case 'kept':
      if (node !== '' && state.node !== node)
        return warning(
          `${path} is of node ${state.node}, this is ${node}`,
          'give each Node a state folder of its own; the agent will set this one aside',
        );
      return ok(`${path} can be written to; last change kept ${ago(state.saved, now())}${lastTimes(state, now())}`);
    default:
      return state satisfies never;
  }
}

function lastTimes({ lastDrop, lastEvent }: KeptState & { kind: 'kept' }, present: Millis): string {
  const when = (time: Millis | undefined): string => (time === undefined ? 'none' : ago(time, present));
  return `; as of then, last drop ${when(lastDrop)}, last Event ${when(lastEvent)}`;
}
