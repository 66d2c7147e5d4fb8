/** Cursors of lines that a server seldom gives: several of one live event, and some without a place in a durable one. */
import { describe, expect, it } from 'vitest';
import type { StreamEvent } from '../../../contract/live-events.js';
import type { Dialect } from '../../../dialects/dialect.js';
import { readLineCursor } from '../../../gateway/stream/line-cursor.js';
import { createTeller } from '../../../gateway/stream/teller.js';
import { live, writtenLog } from '../../contract/written-log.js';

const RUN = 'run_1';

/** Counts the characters that were shown. A chunk is two lines; so is a notice, the first of them without a place. */
const halves: Dialect<number> = {
  name: 'halves',
  begin: () => 0,
  tell(shown, event) {
    const text = 'text' in event ? event.text : '';
    const [first, second] = [text.slice(0, text.length / 2), text.slice(text.length / 2)];
    const lines =
      'seq' in event
        ? [{ data: { first } }, { place: 0, data: { second } }]
        : [{ data: { first } }, { data: { second } }];
    return { state: 'seq' in event ? 0 : shown + text.length, lines, warnings: [] };
  },
  shown: (shown) => (shown === 0 ? undefined : String(shown)),
  resume: (_state, shown) => Number(shown),
};

const [started, notice] = writtenLog([
  { type: 'run_started', input: 'x' },
  { type: 'notice_posted', text: 'abcd' },
]) as [StreamEvent, StreamEvent];
const chunk = (index: number) => live({ type: 'text_chunk', block_id: 'b', attempt: 1, index, text: '1234' });

function teller(cursor: string, states = new Map<string, unknown>(), flattened = false) {
  const point =
    cursor === '0' ? { open: new Map([[RUN, 0]]), shown: new Map() } : readLineCursor(cursor, RUN, flattened);
  return createTeller({ runId: RUN, dialect: halves, begin: () => 0, point, states, tree: undefined });
}

describe('the cursor of a line', () => {
  it('of several of a live event, is before that event unless it is the last: a cut between them loses nothing', () => {
    const whole = teller('0');
    whole.tell(started, '');
    whole.tell(chunk(0), '');
    const { lines } = whole.tell(chunk(1), '');
    expect(lines.map(({ cursor }) => cursor())).toEqual(['0.end.4', '0.end.8']);
  });

  it('without a place, in a durable event, is before that event; behind one with a place it is not said again', () => {
    const whole = teller('0');
    whole.tell(started, '');
    whole.tell(chunk(0), '');
    const { lines } = whole.tell(notice, '');
    expect(lines.map(({ cursor }) => cursor())).toEqual(['0.end.4', '1.0.4']);
    const afterFirst = teller('0.end.4', new Map([[RUN, 4]])).tell(notice, '');
    expect(afterFirst.lines.map(({ data }) => data)).toEqual(lines.map(({ data }) => data));
    const afterSecond = teller('1.0.4', new Map([[RUN, 4]])).tell(notice, '');
    expect(afterSecond.lines).toEqual([]);
  });
});
