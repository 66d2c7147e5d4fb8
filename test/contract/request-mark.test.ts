/** Which event shows a sender what became of its request. */
import { expect, it } from 'vitest';
import { isShownBy } from '../../contract/request-mark.js';
import type { UnseenRequest } from '../../contract/request-mark.js';
import type { StreamEvent } from '../../contract/live-events.js';

const turn = 'thr_1/turn_3';
const request = { by: 'ann', digest: 'd', at: 1, counter: 7 };
const began: UnseenRequest = { ...request, run_id: turn };
const answered: UnseenRequest = { ...began, pause: `${turn} clarification_call_2_1` };
const below: UnseenRequest = { ...began, pause: `${turn}/call_1_1 clarification_call_2_1` };
const waiting: UnseenRequest = { by: 'ann', digest: 'd', at: 1 };
const all = { began, answered, below, waiting };

const event = (fields: object) => ({ run_id: turn, ...fields }) as unknown as StreamEvent;
const resolved = (await_id: string, run_id = turn) => event({ type: 'await_resolved', await_id, run_id });
const ofChild = (state: string) =>
  event({
    type: 'child_await_changed',
    state,
    await_id: 'clarification_call_2_1',
    link: { run_id: `${turn}/call_1_1` },
  });

it.each([
  ['the end of its turn', event({ type: 'run_completed' }), ['began', 'answered', 'below']],
  ['its end by the engine', event({ type: 'stream_ended', reason: 'terminated' }), ['began', 'answered', 'below']],
  ['the end of another turn', event({ type: 'run_completed', run_id: 'thr_1/turn_2' }), []],
  ['the end of a run in its turn', event({ type: 'run_completed', run_id: `${turn}/call_1_1` }), []],
  ['the end of the pause that it answered', resolved('clarification_call_2_1'), ['answered']],
  ['the end of one before, told again', resolved('clarification_call_1_1'), []],
  ['the end of one further down', resolved('clarification_call_2_1', `${turn}/call_1_1`), ['below']],
  ['the same, as the turn’s own run tells it', ofChild('resolved'), ['below']],
  ['a question', event({ type: 'await_clarification', await_id: 'clarification_call_3_1' }), []],
  ['a question further down', ofChild('open'), []],
  ['a word', event({ type: 'text_chunk', text: 'x' }), []],
])('%s', (_what, shown, expected) => {
  expect(Object.entries(all).flatMap(([name, unseen]) => (isShownBy(unseen, shown) ? [name] : []))).toEqual(expected);
});
