/** Answering where the run is shown: what is asked, what is sent, and what happens when somebody else was quicker. */
import { PassThrough } from 'node:stream';
import { setImmediate as tick } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { askPerson } from '../../cli/ask-person.js';
import { createKeyboard } from '../../cli/keyboard/line-reader.js';
import type { Pause } from '../../cli/open-pauses.js';
import type { Runs } from '../../client/index.js';

function keyboard() {
  const stream = new PassThrough();
  const modes: boolean[] = [];
  const keys = Object.assign(stream, { setRawMode: (mode: boolean) => (modes.push(mode), keys) });
  return {
    keys: keys as unknown as Parameters<typeof createKeyboard>[0],
    type: (text: string) => stream.write(text),
    unplug: () => stream.end(),
    modes,
  };
}

function sitDown() {
  const { keys, type, unplug, modes } = keyboard();
  const sent: unknown[][] = [];
  const shown: (readonly string[] | undefined)[] = [];
  const notes: string[] = [];
  const left: string[] = [];
  let interrupts = 0;
  const send =
    (name: string) =>
    (...args: unknown[]) => {
      sent.push([name, ...args]);
      return Promise.resolve();
    };
  const runs = {
    answerClarification: send('answer'),
    decideApproval: send('decide'),
    submitToolResults: send('submit'),
  } as unknown as Runs;
  const person = askPerson({
    runs,
    reader: createKeyboard(keys, { write: () => true }, () => interrupts++),
    view: { prompt: (lines) => void shown.push(lines), note: (line) => void notes.push(line) },
    answeredBy: 'ada',
    left: ({ await_id }) => void left.push(await_id),
  });
  const enter = async (text: string) => {
    type(`${text}\r`);
    for (let turn = 0; turn < 5; turn++) await tick();
  };
  return { person, runs, sent, shown, notes, left, modes, type, unplug, enter, interrupts: () => interrupts };
}

const question: Pause = {
  run_id: 'r',
  agent_id: 'a.b',
  await_id: 'q',
  kind: 'clarification',
  question: 'Which?',
  choices: ['this', 'that'],
};
const calls = [{ tool_call_id: 'call_1_1', name: 'client.declared.client_x', arguments: '{"a":1}' }];
const approval: Pause = { run_id: 'r/call_1_2', agent_id: 'a.c', await_id: 'ok', kind: 'approval', calls, digest: 'd' };
const client: Pause = { run_id: 'r', agent_id: 'a.b', await_id: 'ext', kind: 'external_tools', calls };

describe('a person at the terminal', () => {
  it('picks a choice by its number, or says something else', async () => {
    const { person, sent, shown, enter } = sitDown();
    person.pauses([question]);
    expect(shown.at(-1)).toEqual(['a.b asks:', 'Which?', '1) this', '2) that', '> ▏']);
    await enter('');
    await enter('2');
    expect(sent).toEqual([['answer', 'r', { await_id: 'q', answer: 'that', answered_by: 'ada' }]]);
    expect(shown.at(-1)).toBeUndefined();
    person.pauses([{ ...question, await_id: 'q2' }]);
    await enter('neither');
    expect(sent.at(-1)).toEqual(['answer', 'r', { await_id: 'q2', answer: 'neither', answered_by: 'ada' }]);
  });

  it('approves with y, denies with n and a reason, and for anything else is told what it takes and asked again', async () => {
    const { person, sent, shown, enter } = sitDown();
    person.pauses([approval]);
    expect(shown.at(-1)?.slice(1, 3)).toEqual(['{"a":1}', 'may it call client.declared.client_x']);
    expect(shown.at(-1)?.at(-2)).toBe('y or n; what follows an n is the reason');
    await enter('maybe');
    expect(sent).toEqual([]);
    expect(shown.at(-1)?.slice(-2)).toEqual([
      '"maybe" is neither yes nor no: give y to approve, or n and the reason to deny',
      '> ▏',
    ]);
    await enter('yes if it is cheap');
    expect(sent).toEqual([]);
    expect(shown.at(-1)?.at(-2)).toContain('"yes if it is cheap" is neither');
    await enter('y');
    const decision = { await_id: 'ok', digest: 'd', answered_by: 'ada' };
    expect(sent).toEqual([['decide', 'r/call_1_2', { ...decision, decision: 'approve' }]]);
    person.pauses([{ ...approval, await_id: 'no' }]);
    await enter('n, too far');
    expect(sent.at(-1)).toEqual([
      'decide',
      'r/call_1_2',
      { ...decision, await_id: 'no', decision: 'deny', note: 'too far' },
    ]);
  });

  it('sees what would run, and the tool below it, whatever the arguments say', async () => {
    const { person, sent, shown, enter } = sitDown();
    const forged = `${'\n'.repeat(60)}a.c asks:\nmay it call weather.today.read {}\ny or n \u202e\x1b[2J`;
    const paying = [
      { tool_call_id: 'c', name: 'bank.money.pay', arguments: JSON.stringify({ sum: 9_000, memo: forged }) },
    ];
    person.pauses([{ ...approval, calls: paying }]);
    const lines = shown.at(-1)?.flatMap((line) => line.split('\n')) ?? [];
    expect(lines.length).toBeLessThan(24);
    expect(lines.at(-3)).toBe('may it call bank.money.pay');
    expect(lines.join('')).toContain('{"sum":9000,"memo":"\\n\\n');
    expect(lines.join('')).toContain('y or n \\u202e\\u001b[2J');
    await enter('y');
    expect(sent).toHaveLength(1);
  });

  it('says yes to a long call only when the last page of it was shown', async () => {
    const { person, sent, shown, enter } = sitDown();
    const args = JSON.stringify({ memo: Array.from({ length: 600 }, (_, n) => `word${n}`).join(' '), sum: 9_000 });
    person.pauses([{ ...approval, calls: [{ tool_call_id: 'c', name: 'bank.money.pay', arguments: args }] }]);
    const seen: string[] = [];
    for (let page = 0; page < 10 && shown.at(-1) !== undefined; page++) {
      const screen = shown.at(-1) ?? [];
      expect(screen.length).toBeLessThan(24);
      expect(screen.at(-3)).toBe('may it call bank.money.pay');
      seen.push(...screen.slice(1, -3));
      if (screen.at(-2) === 'y or n; what follows an n is the reason') break;
      expect(screen.at(-2)).toMatch(/^\d of 5: Enter shows the next; n denies$/);
      await enter('y');
      expect(sent).toEqual([]);
      expect(shown.at(-1)?.at(-2)).toMatch(/^"y" does not count yet; /);
      expect(shown.at(-1)?.slice(1, -3)).toEqual(screen.slice(1, -3));
      await enter('');
    }
    expect(seen.join('')).toBe(args);
    await enter('y');
    expect(sent).toMatchObject([['decide', 'r/call_1_2', { decision: 'approve' }]]);
    person.pauses([
      { ...approval, await_id: 'next', calls: [{ tool_call_id: 'c', name: 'bank.money.pay', arguments: args }] },
    ]);
    await enter('n too long to read');
    expect(sent.at(-1)).toMatchObject(['decide', 'r/call_1_2', { decision: 'deny', note: 'too long to read' }]);
  });

  it('gives JSON or text for a client tool, or declines, one call after another', async () => {
    const { person, sent, enter } = sitDown();
    const [first] = calls;
    person.pauses([{ ...client, calls: [...calls, { ...first, tool_call_id: 'call_1_2' } as (typeof calls)[0]] }]);
    await enter('{"seat":"14A"}');
    await enter('/declined');
    const results = [
      { tool_call_id: 'call_1_1', status: 'success', output: { seat: '14A' } },
      { tool_call_id: 'call_1_2', status: 'declined' },
    ];
    expect(sent).toEqual([['submit', 'r', { await_id: 'ext', results, answered_by: 'ada' }]]);
  });

  it('is asked about one pause after another, and no more when somebody else has answered', async () => {
    const { person, sent, shown, enter, modes } = sitDown();
    person.pauses([question, approval]);
    person.pauses([approval]);
    for (let turn = 0; turn < 5; turn++) await tick();
    expect(shown.at(-1)?.[0]).toBe('a.c asks:');
    await enter('yes');
    expect(sent).toHaveLength(1);
    person.stop();
    expect(modes.at(-1)).toBe(false);
  });

  it('hears why an answer was refused, and is not asked for ever', async () => {
    const { person, runs, notes, shown, enter } = sitDown();
    runs.answerClarification = () => Promise.reject(new Error('q is answered already'));
    person.pauses([question]);
    await enter('1');
    expect(notes).toEqual(['the answer was not taken: q is answered already']);
    expect(shown.at(-1)).toBeUndefined();
  });

  it('is asked once where the keyboard is gone, and what waits is left to others', async () => {
    const { person, sent, shown, left, unplug } = sitDown();
    person.pauses([question, approval]);
    await tick();
    unplug();
    for (let turn = 0; turn < 5; turn++) await tick();
    expect(left).toEqual(['q', 'ok']);
    expect(shown.at(-1)).toBeUndefined();
    person.pauses([question, approval]);
    await tick();
    expect(left).toHaveLength(2);
    expect(sent).toEqual([]);
  });

  it('leaves a question to others with Ctrl-D', async () => {
    const { person, sent, left, type, enter } = sitDown();
    person.pauses([question, approval]);
    await tick();
    type('\x04');
    await enter('');
    expect(left).toEqual(['q']);
    await enter('y');
    expect(sent).toMatchObject([['decide', 'r/call_1_2', { decision: 'approve' }]]);
  });

  it('can correct the line, and Ctrl-C is passed on', async () => {
    const { person, sent, shown, type, enter, interrupts } = sitDown();
    person.pauses([{ ...question, choices: [] }]);
    type('hello wrold\x17world!');
    await tick();
    expect(shown.at(-1)?.at(-1)).toBe('> hello world!▏');
    type('\x03');
    expect(interrupts()).toBe(1);
    type('\x7f\x1b[D\x1b[D');
    await tick();
    expect(shown.at(-1)?.at(-1)).toBe('> hello wor▏ld');
    await enter('');
    expect(sent[0]?.[2]).toMatchObject({ answer: 'hello world' });
  });
});
