import { describe, expect, it } from 'vitest';
import {
  applyChanges,
  beginStates,
  MOST_SET_ENTRIES,
  newsOf,
  snapshotOf,
  takeNews,
} from '../../contract/tool-state.js';
import type { StateChange, StateCell } from '../../contract/tool-state.js';

const counts: StateCell = { scope: 'run', name: 'test.counts' };
const notes: StateCell = { scope: 'shared', name: 'test.notes' };
const otherwise = { content: 'no more' };
const up = (key: string, below = 3): StateChange => ({ op: 'increment', cell: counts, key, below, otherwise });
const note = (key: string, value = key): StateChange => ({ op: 'append', cell: notes, key, value });
const values = (entries: { value: unknown }[] | undefined) => (entries ?? []).map((entry) => entry.value);

describe('changes to the state of tools', () => {
  it('count up to a limit, and no further', () => {
    const states = beginStates();
    const outcomes = [up('a'), up('a'), up('b'), up('a'), up('a')].map((change) => applyChanges(states, [change]));
    expect(outcomes).toEqual([undefined, undefined, undefined, undefined, otherwise]);
    expect(states.run['test.counts']).toEqual([
      { key: 'a', value: 3 },
      { key: 'b', value: 1 },
    ]);
  });

  it('are made all or none', () => {
    const states = beginStates();
    expect(applyChanges(states, [note('one'), up('a', 0)])).toEqual(otherwise);
    expect(states).toEqual(beginStates());
  });

  it('of the same call are made once', () => {
    const states = beginStates();
    applyChanges(states, [note('x')]);
    applyChanges(states, [note('x')]);
    expect(values(states.shared['test.notes'])).toEqual(['x']);
  });

  it('keep to the bounds of a cell', () => {
    const states = beginStates();
    const bounded = (key: string, value: string): StateChange => ({
      op: 'append',
      cell: notes,
      key,
      value,
      bounds: { entries: 2, characters: 100 },
      otherwise,
    });
    expect(applyChanges(states, [bounded('a', 'x'.repeat(100))])).toEqual(otherwise);
    expect(applyChanges(states, [bounded('a', '1'), bounded('b', '2')])).toBeUndefined();
    expect(applyChanges(states, [bounded('c', '3')])).toEqual(otherwise);
    const replace = (index: number): StateChange => ({ op: 'replace', cell: notes, index, value: 'new', otherwise });
    expect(applyChanges(states, [replace(2)])).toEqual(otherwise);
    expect(applyChanges(states, [replace(1)])).toBeUndefined();
    expect(values(states.shared['test.notes'])).toEqual(['1', 'new']);
    applyChanges(states, [{ op: 'clear', cell: notes }, note('d')]);
    expect(values(states.shared['test.notes'])).toEqual(['d']);
  });

  it('that are set push the oldest out', () => {
    const states = beginStates();
    const set = (n: number): StateChange => ({ op: 'set', cell: notes, key: `k${n}`, value: n });
    for (let n = 0; n <= MOST_SET_ENTRIES; n++) applyChanges(states, [set(n)]);
    expect(states.shared['test.notes']).toHaveLength(MOST_SET_ENTRIES);
    expect(states.shared['test.notes']?.[0]).toEqual({ key: 'k1', value: 1 });
  });

  it('do not reach into a snapshot that was taken before', () => {
    const states = beginStates();
    applyChanges(states, [up('a')]);
    const before = snapshotOf(states, [counts, notes]);
    applyChanges(states, [up('a'), note('n')]);
    expect(before).toEqual({ run: { 'test.counts': [{ key: 'a', value: 1 }] }, shared: { 'test.notes': [] } });
  });
});

describe('shared cells of a child', () => {
  const given = {
    'test.notes': [
      { key: 'p1', value: 'plan' },
      { key: 'p2', value: 'open' },
    ],
  };

  it('begin as the parent has them, and what is new comes back', () => {
    const child = beginStates(given);
    applyChanges(child, [note('c1'), up('own')]);
    const parent = beginStates(given);
    applyChanges(parent, [note('p3')]);
    takeNews(parent.shared, newsOf(child));
    expect(values(parent.shared['test.notes'])).toEqual(['plan', 'open', 'p3', 'c1']);
    expect(parent.run).toEqual({});
  });

  it('take nothing away, and change only what is as it was given', () => {
    const child = beginStates(given);
    applyChanges(child, [{ op: 'replace', cell: notes, index: 0, value: 'done', otherwise }]);
    const rewriter = beginStates(given);
    applyChanges(rewriter, [{ op: 'clear', cell: notes }, note('r1')]);
    const late = beginStates(given);
    applyChanges(late, [{ op: 'replace', cell: notes, index: 0, value: 'too late', otherwise }]);
    const parent = beginStates(given);
    for (const states of [child, rewriter, late]) takeNews(parent.shared, newsOf(states));
    expect(values(parent.shared['test.notes'])).toEqual(['done', 'open', 'r1']);
  });

  it('without news have none', () => {
    expect(newsOf(beginStates(given))).toBeUndefined();
    expect(given['test.notes']).toHaveLength(2);
  });
});
