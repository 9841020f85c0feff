/** What a key does to the view. */
import type { SortKey } from '../options/top-options.ts';
import { shownRows, type ViewState } from './view.ts';

/** As node:readline names keys. */
export interface Key {
  readonly name?: string | undefined;
  readonly sequence?: string | undefined;
  readonly ctrl?: boolean | undefined;
  readonly shift?: boolean | undefined;
}

/** Characters of a filter. */
const longestFilter = 100;

const sortOf: Readonly<Record<string, SortKey>> = { R: 'rate', P: 'packets', L: 'last', F: 'from', T: 'to' };

/** `page`: rows that the screen has. The state afterwards, or that it is the end. */
export function press(state: ViewState, key: Key, page: number): ViewState | 'quit' {
  const { name, sequence = '', ctrl } = key;
  if (ctrl === true && (name === 'c' || name === 'd')) return 'quit';
  if (state.isTyping) return type(state, key);
  if (sequence === 'q') return 'quit';
  if (sequence === '/') return { ...state, isTyping: true, filter: '', selected: 0 };
  if (name === 'escape') return { ...state, filter: '', selected: 0 };
  const sort = Object.hasOwn(sortOf, sequence) ? sortOf[sequence] : undefined;
  if (sort !== undefined) return { ...state, sort, reversed: sort === state.sort && !state.reversed, selected: 0 };
  return { ...state, selected: moved(state, key, page) };
}

function moved(state: ViewState, { name = '', sequence = '' }: Key, page: number): number {
  const last = Math.max(0, shownRows(state).length - 1);
  const by = (rows: number): number => Math.min(last, Math.max(0, Math.min(state.selected, last) + rows));
  if (name === 'down' || sequence === 'j') return by(1);
  if (name === 'up' || sequence === 'k') return by(-1);
  if (name === 'pagedown') return by(page);
  if (name === 'pageup') return by(-page);
  if (name === 'home' || sequence === 'g') return 0;
  return name === 'end' || sequence === 'G' ? last : state.selected;
}

function type(state: ViewState, { name, sequence = '', ctrl }: Key): ViewState {
  if (name === 'escape') return { ...state, isTyping: false, filter: '' };
  if (name === 'return' || name === 'enter') return { ...state, isTyping: false };
  if (name === 'backspace') return { ...state, filter: state.filter.slice(0, -1) };
  if (ctrl === true || !/^[!-~ ]$/.test(sequence) || state.filter.length >= longestFilter) return state;
  return { ...state, filter: state.filter + sequence, selected: 0 };
}
