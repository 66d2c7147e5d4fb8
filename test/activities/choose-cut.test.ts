/** Where a conversation is cut: for any conversation, and any number of cuts one after another. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { behindCut, chooseCut } from '../../activities/choose-cut.js';
import { isSummary, ownMessages, summaryMessage } from '../../contract/compaction.js';
import type { Compacted } from '../../contract/compaction.js';
import type { BaseMessage } from '../../contract/messages.js';

const text = fc.string({ maxLength: 80 });
const calls = fc.integer({ min: 1, max: 3 });

/** One model call and the results of what it asked for. */
const step = fc.record({ reasoning: fc.boolean(), text, calls }).map((made): BaseMessage[] => {
  const ids = Array.from({ length: made.calls }, (_, n) => `c${n}`);
  const tool_calls = ids.map((id) => ({ id, type: 'function' as const, function: { name: 'a.b.c', arguments: '{}' } }));
  return [
    ...(made.reasoning ? [{ role: 'reasoning' as const, content: made.text }] : []),
    { role: 'assistant', content: made.text, tool_calls },
    ...ids.map((id) => ({ role: 'tool' as const, tool_call_id: id, tool_name: 'a.b.c', content: made.text })),
  ];
});
const steps = fc.array(step, { maxLength: 5 }).map((made) => made.flat());
const turn = fc
  .record({ asked: text, steps, answer: text })
  .map((made): BaseMessage[] => [
    { role: 'user', content: made.asked },
    ...made.steps,
    { role: 'assistant', content: made.answer },
  ]);
const thread = fc.array(turn, { maxLength: 5 }).map((turns) => turns.flat());
const hidden: BaseMessage = { role: 'user', content: 'Go on.', meta: { hidden: true } };
/** What a run has said since it was asked. */
const own = fc
  .record({ asked: text, steps, reprompted: fc.boolean(), more: steps })
  .map((made): BaseMessage[] => [
    { role: 'user', content: made.asked, meta: { own: true } },
    ...made.steps,
    ...(made.reprompted ? [hidden, ...made.more] : []),
  ]);

function expectWhole(messages: readonly BaseMessage[]): void {
  const open = new Set<string>();
  for (const [index, message] of messages.entries()) {
    if (message.role === 'tool') {
      expect(open.delete(message.tool_call_id), `result ${index} has its call`).toBe(true);
      continue;
    }
    expect([...open], `no call is open before ${index}`).toEqual([]);
    if (message.role === 'assistant') for (const { id } of message.tool_calls ?? []) open.add(id);
  }
  expect([...open]).toEqual([]);
}

describe('a cut', () => {
  it('leaves whole steps and the user’s message, and is found again by thread and run, however often', () => {
    const rounds = fc.array(fc.record({ keep: fc.nat(1_500), most: fc.nat(3_000), more: steps }), { maxLength: 4 });
    fc.assert(
      fc.property(thread, own, rounds, (said, first, cuts) => {
        const transcript = [...first];
        let view = [...said, ...first];
        let compacted: Compacted | undefined;
        for (const [n, { keep, most, more }] of cuts.entries()) {
          const cut = chooseCut(view, keep, most);
          if (cut !== undefined) {
            expect(view[cut.user]).toMatchObject({ meta: { own: true } });
            const kept = [...(cut.user < cut.at ? [view[cut.user] as BaseMessage] : []), ...view.slice(cut.at)];
            const replaced = view.slice(0, cut.at).filter((_, index) => index !== cut.user);
            expect(replaced.some((message) => !isSummary(message))).toBe(true);
            compacted = behindCut(cut.at, compacted, said.length);
            view = [summaryMessage(`summary ${n}`), ...kept];
            const [summary, ...rest] = ownMessages(transcript, { ...compacted, summary: `summary ${n}` });
            expect([summary, ...said.slice(compacted.thread_messages), ...rest]).toEqual(view);
          }
          expect(view.filter(({ meta }) => (meta as { own?: boolean } | undefined)?.own === true)).toHaveLength(1);
          expectWhole(view);
          transcript.push(...more);
          view = [...view, ...more];
        }
      }),
      { numRuns: 500 },
    );
  });

  it('keeps as much as it may, and no more', () => {
    const turns = Array.from({ length: 10 }, (_, n): BaseMessage[] => [
      { role: 'user', content: `question ${n}` },
      { role: 'assistant', content: 'x'.repeat(100) },
    ]).flat();
    const messages: BaseMessage[] = [...turns, { role: 'user', content: 'now' }];
    const sizeFrom = (at: number) => messages.slice(at).reduce((sum, each) => sum + JSON.stringify(each).length, 0);
    const keep = sizeFrom(14);
    expect(chooseCut(messages, keep, keep)?.at).toBe(14);
    expect(chooseCut(messages, keep - 1, keep)?.at).toBe(16);
    expect(chooseCut(messages, 0, sizeFrom(18))?.at).toBe(18);
  });

  it('is not made where nothing would be gained', () => {
    const asked: BaseMessage = { role: 'user', content: 'x'.repeat(500) };
    expect(chooseCut([asked], 10, 20)).toBeUndefined();
    expect(chooseCut([summaryMessage('before'), asked], 10, 20)).toBeUndefined();
  });
});
