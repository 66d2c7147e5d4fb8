/**
 * The dialects, and one more for tests of the transport: `triple` makes no, one or three lines of an event, and leaves
 * out of a closing event what was shown of its block live.
 */
import type { StreamEvent } from '../../../contract/live-events.js';
import type { Dialect, Line } from '../../../dialects/dialect.js';
import { DIALECTS } from '../../../dialects/index.js';

interface Block {
  chars: number;
  /** Of a reader who comes back: the next chunk holds the text from its beginning. */
  resumed: boolean;
}
interface State {
  commit: boolean;
  blocks: Readonly<Record<string, Block>>;
}

type Chunk = Extract<StreamEvent, { type: 'text_chunk' | 'thinking_chunk' }>;
const isChunk = (event: StreamEvent): event is Chunk => event.type === 'text_chunk' || event.type === 'thinking_chunk';

const triple: Dialect<State> = {
  ...folding('triple'),
  tell(state, event) {
    const { next, text } = follow(state, event);
    if (event.type === 'text_chunk') return told(next, text === '' || state.commit ? [] : [{ data: { say: text } }]);
    if (event.type === 'live_dropped') return told(next, [], ['something live is missing']);
    if (!('seq' in event) || event.type === 'step_started') return told(next, []);
    if (event.type !== 'text_end') return told(next, [{ place: 0, data: { kind: event.type } }]);
    const rest = event.text.slice(state.blocks[event.block_id]?.chars ?? 0);
    const middle: Line[] = rest === '' ? [] : [{ place: 1, data: { say: rest } }];
    return told(next, [
      { place: 0, data: { closing: event.block_id } },
      ...middle,
      { place: 2, data: { closed: true } },
    ]);
  },
};

export const testDialects = { ...DIALECTS, triple };

function folding(name: string): Omit<Dialect<State>, 'tell'> {
  return {
    name,
    begin: ({ commit }) => ({ commit, blocks: {} }),
    shown({ blocks }) {
      const open = Object.entries(blocks).map(([id, { chars }]) => [id, chars]);
      return open.length === 0 ? undefined : Buffer.from(JSON.stringify(open)).toString('base64url');
    },
    resume(state, shown) {
      const open = JSON.parse(Buffer.from(shown, 'base64url').toString()) as [string, number][];
      return { ...state, blocks: Object.fromEntries(open.map(([id, chars]) => [id, { chars, resumed: true }])) };
    },
  };
}

/** The state after the event, and what of a chunk was not shown yet. */
function follow(state: State, event: StreamEvent): { next: State; text: string } {
  if (isChunk(event) && !state.commit) {
    const { chars = 0, resumed = false } = state.blocks[event.block_id] ?? {};
    const text = resumed ? event.text.slice(chars) : event.text;
    const block = { chars: chars + text.length, resumed: false };
    return { next: { ...state, blocks: { ...state.blocks, [event.block_id]: block } }, text };
  }
  if (!('seq' in event) || !('block_id' in event) || event.block_id === undefined) return { next: state, text: '' };
  const { [event.block_id]: _closed, ...blocks } = state.blocks;
  return { next: { ...state, blocks }, text: '' };
}

function told(state: State, lines: Line[], warnings: string[] = []) {
  return { state, lines, warnings };
}
