/** What a cursor says of open blocks: short, safe in a URL, and refused when it is none. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isPerdureError } from '../../contract/errors.js';
import { DIALECTS } from '../../dialects/index.js';
import { live } from '../contract/written-log.js';
import { createTeller, dialectNames } from './tell-all.js';

const chunk = (text: string, index = 0) =>
  live({ type: 'text_chunk', block_id: 'step_1.block_1', attempt: 1, index, text });

describe.each(dialectNames)('the cursor of %s', (name) => {
  it('says nothing while nothing is open, and little of a long text', () => {
    const teller = createTeller(name);
    expect(teller.shown('run_1')).toBeUndefined();
    teller.tell(chunk('word '.repeat(10_000)));
    expect(teller.shown('run_1')).toMatch(/^[A-Za-z0-9_-]{10,120}$/);
  });

  it('survives any ids', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (step_id, block_id) => {
        const teller = createTeller(name);
        teller.tell({ ...chunk('said'), step_id, block_id } as ReturnType<typeof chunk>);
        const shown = teller.shown('run_1') ?? '';
        const again = createTeller(name);
        again.resume('run_1', shown);
        expect(again.shown('run_1')).toBe(shown);
      }),
    );
  });

  it.each(['', 'nonsense', 'x-a', '--', 'b-a-1', 't-a-b', 'x-step_5f_1-zzzzzzzzz-1-1-_'])(
    'is refused if it is %j',
    (shown) => {
      const refuse = () => DIALECTS[name].resume(DIALECTS[name].begin({ commit: false }), shown);
      expect(refuse).toThrow(
        expect.toSatisfy((error: unknown) => isPerdureError(error) && error.code === 'invalid_request'),
      );
    },
  );
});

it('holds a thousand reports of a tool as one range', () => {
  const teller = createTeller('event_contract');
  for (let n = 1; n <= 1_000; n++) {
    const report = { message: `${n}`, live_id: `call_1_1.progress_${n}`, tool_call_id: 'call_1_1', tool_id: 'a.b.c' };
    teller.tell({ ...live({ type: 'tool_progress', message: '' }), ...report } as ReturnType<typeof live>);
  }
  expect(teller.shown('run_1')?.length).toBeLessThan(100);
});

it('gives live lines of agent_events the time of the clock, and else of the last durable event', () => {
  const { agent_events } = DIALECTS;
  const state = agent_events.begin({ commit: false, clock: () => 1_234 });
  expect(agent_events.tell(state, chunk('a')).lines).toMatchObject([{ data: { timestamp: 1_234 } }]);
});
