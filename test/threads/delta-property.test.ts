/**
 * Deltas over random lives of a thread: whatever happened, and from whichever token on, what a reader puts together is
 * the record. PERDURE_SEED repeats a run, PERDURE_CASES asks for more.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readToken, writeToken } from '../../client/threads/continuation-token.js';
import { applyDelta, deltaSince, positionOf } from '../../contract/thread-delta.js';
import type { ThreadFields, ThreadView } from '../../contract/thread-delta.js';
import { append } from '../../contract/turn-messages.js';
import type { AgentContent, AgentMessage } from '../../contract/thread-records.js';

const CASES = Number(process.env['PERDURE_CASES'] ?? 2_000);
const SEED = Number(process.env['PERDURE_SEED'] ?? Date.now() % 2_147_483_647);

const words = fc.constantFrom('one ', 'two ', 'drei ', '五 ', '🙂', '"', '\n');
const edit = fc.oneof(
  { weight: 2, arbitrary: fc.record({ do: fc.constant('say' as const), text: words }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('write' as const), text: words }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('use', 'result') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('ask' as const), text: words }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('retract' as const), text: words }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('end', 'cancel', 'lose') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('rename' as const), text: words }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('declare' as const) }) },
);
type Edit = { do: string; text?: string };

interface Life extends ThreadFields {
  counter: number;
  changed: ThreadView['changed'];
  stored: AgentMessage[];
  turn: AgentMessage[] | undefined;
  /** Something that was shown did not last. */
  torn: boolean;
}

const created = '2026-03-01T10:00:00.000Z';
const message = (role: AgentMessage['role'], status: AgentMessage['status'], ...content: AgentContent[]) => ({
  role,
  content,
  status,
  created,
});
const text = (said: string): AgentContent => ({ content_type: 'text', text: said });
const asks = { kind: 'approval' as const, tool_use_id: 'turn_1_call_1_1', run_id: 'thr_1/turn_1', await_id: 'a' };
const error: AgentContent = { content_type: 'error', error_message: 'No.', error_code: 'cancelled' };

function change(life: Life, field: keyof ThreadFields): void {
  life.changed = { ...life.changed, [field]: ++life.counter };
}

/** The message of that role that is being generated; those before it are finished. */
function current(turn: AgentMessage[], role: 'assistant' | 'roboto'): AgentMessage {
  const last = turn.at(-1);
  if (last?.role === role && last.status === 'generating') return last;
  if (last?.status === 'generating') last.status = 'completed';
  const next: AgentMessage = message(role, 'generating');
  turn.push(next);
  return next;
}

function live(life: Life, { do: what, text: said = '' }: Edit): void {
  const { turn } = life;
  if (what === 'retract' || what === 'lose') life.torn = true;
  if (what === 'rename') {
    life.title = `${life.title ?? ''}${said}`;
    change(life, 'title');
  } else if (what === 'declare') {
    const goal = {
      goal_type: 'summary',
      goal_data: {},
      status: 'pending' as const,
      created,
      concluded_at: null,
      achieve_tool_use_id: null,
    };
    life.goals = [...life.goals, { ...goal, message_sequence_num: life.stored.length }];
    change(life, 'goals');
  } else if (what === 'say' && turn === undefined) {
    life.stored.push(message('user', 'completed', text(said)));
    life.turn = [];
    life.status = 'roboto_turn';
    change(life, 'status');
  } else if (turn === undefined) return;
  else if (what === 'write') append(current(turn, 'assistant'), text(said));
  else if (what === 'use') {
    const id = `turn_1_call_${turn.length}_1`;
    const use = { content_type: 'tool_use' as const, tool_name: 'x', tool_use_id: id, input: {}, raw_request: null };
    current(turn, 'assistant').content.push(use);
  } else if (what === 'ask') {
    // Also at the end of one that is complete.
    const last = turn.at(-1);
    if (last?.role === 'assistant') append(last, { content_type: 'text', text: said, asks });
  } else if (what === 'result') {
    const result = {
      content_type: 'tool_result' as const,
      tool_name: 'x',
      tool_use_id: `turn_1_call_${turn.length}_1`,
    };
    current(turn, 'roboto').content.push({ ...result, runtime_ms: 1, status: 'success', raw_response: null });
  } else if (what === 'retract') {
    const last = turn.at(-1);
    if (last?.role === 'assistant' && last.status === 'generating') last.content = [text(said)];
  } else if (['end', 'cancel', 'lose'].includes(what)) {
    const last = turn.at(-1);
    if (what === 'cancel') Object.assign(current(turn, 'assistant'), { status: 'cancelled' }).content.push(error);
    else if (last?.status === 'generating') last.status = 'completed';
    life.stored.push(...(what === 'lose' ? [message('assistant', 'failed', error)] : turn));
    life.turn = undefined;
    life.status = 'user_turn';
    change(life, 'status');
  }
}

/** As a reader sees it; one that is behind knows nothing yet of the last part of the turn. */
function viewOf(life: Life, first: number, behind: number): ThreadView {
  const { status, title, goals, counter, changed, stored, turn } = structuredClone(life);
  const shown = (turn ?? []).slice(0, (turn ?? []).length - behind);
  const from = Math.min(first, stored.length);
  const messages = [...stored.slice(from), ...shown];
  return { status, title, goals, counter, changed, from, messages, stored: stored.length, open: turn !== undefined };
}

interface Held extends ThreadFields {
  messages: AgentMessage[];
  token: string;
}

function holdAll(life: Life): Held {
  const { status, title, goals, messages, ...view } = viewOf(life, 0, 0);
  const token = writeToken('thr_1', positionOf({ status, title, goals, messages, ...view }));
  return { status, title, goals, messages: [...messages], token };
}

function poll(life: Life, held: Held, behind = 0): Held {
  const position = readToken('thr_1', held.token);
  const found =
    deltaSince(viewOf(life, position.sent?.base ?? 0, behind), position) ??
    deltaSince(viewOf(life, 0, behind), position);
  if (found === undefined) throw new Error('there is always a delta from the whole thread');
  // A reader that only appends, as the published client does, is right as long as nothing was taken back.
  if (!life.torn) expect(found.delta.replaces_from).toBeUndefined();
  const indices = Object.keys(found.delta.messages_by_idx).map(Number);
  const known = held.messages.slice(0, found.delta.replaces_from).length;
  // No gap: the first is known or the next, and each follows the one before it.
  indices.forEach((index, n) => expect(index).toBe((indices[0] ?? 0) + n));
  if (indices[0] !== undefined) expect(indices[0]).toBeLessThanOrEqual(known);
  return { ...applyDelta(held, found.delta), token: writeToken('thr_1', found.position) };
}

it(`deltas from any token onward give the record (PERDURE_SEED=${SEED})`, () => {
  const step = fc.record({ edit, polls: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }), behind: fc.nat(1) });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 25 }), (steps) => {
      const life: Life = {
        status: 'not_started',
        title: null,
        goals: [],
        counter: 1,
        changed: { status: 1, title: 1, goals: 1 },
        stored: [],
        turn: undefined,
        torn: false,
      };
      const readers = [holdAll(life)];
      for (const { edit: news, polls, behind } of steps) {
        live(life, news);
        polls.forEach((isPolled, n) => {
          const held = readers[n];
          if (isPolled && held !== undefined) readers[n] = poll(life, held, n === 1 ? behind : 0);
        });
        readers.push(holdAll(life));
      }
      live(life, { do: 'end' });
      const record = holdAll(life);
      for (const held of readers) expect(poll(life, held)).toEqual(record);
    }),
    { seed: SEED, numRuns: CASES },
  );
});

it('a turn that was lost is replaced also where another one has come to the same words at the same place', () => {
  const life: Life = {
    status: 'not_started',
    title: null,
    goals: [],
    counter: 1,
    changed: { status: 1, title: 1, goals: 1 },
    stored: [],
    turn: undefined,
    torn: false,
  };
  const play = (...edits: Edit[]) => edits.forEach((each) => live(life, each));
  play({ do: 'say', text: 'go' }, { do: 'use' }, { do: 'result' }, { do: 'write', text: 'two ' });
  const held = holdAll(life);
  play({ do: 'lose' }, { do: 'say', text: 'again' }, { do: 'write', text: 'two ' });
  expect(poll(life, held)).toEqual(holdAll(life));
});
