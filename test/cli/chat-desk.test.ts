/** A chat at a terminal: one line to write on, questions that take it and give it back, and a view in between. */
import { PassThrough } from 'node:stream';
import { setImmediate as tick } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openTerminal } from '../../cli/chat/desk.js';
import { createHistory } from '../../cli/keyboard/history.js';
import { createKeyboard } from '../../cli/keyboard/line-reader.js';
import { createFakeTerminal } from './fake-terminal.js';

function sitDown() {
  const stream = new PassThrough();
  const modes: boolean[] = [];
  const keys = Object.assign(stream, { setRawMode: (mode: boolean) => (modes.push(mode), keys) });
  const terminal = createFakeTerminal(50, 12);
  const reader = createKeyboard(keys as unknown as Parameters<typeof createKeyboard>[0], terminal.stream, () => {});
  const history = createHistory();
  const desk = openTerminal(terminal.stream, reader, { markdown: true, history: () => history });
  const settle = async () => {
    for (let turn = 0; turn < 10; turn++) await tick();
  };
  /** As a person does: what happens by itself has happened before the next key. */
  const type = async (text: string) => {
    await settle();
    stream.write(text);
    await settle();
  };
  const leaving = new AbortController();
  return { desk, terminal, type, modes, leaving, next: () => desk.next(leaving.signal) };
}

beforeEach(() => {
  vi.stubEnv('NO_COLOR', '1');
  vi.stubEnv('TERM', 'xterm');
});
afterEach(() => {
  vi.unstubAllEnvs();
});

describe('the desk of a chat', () => {
  it('shows the line that is written at the end, what is printed above it, and gives the line', async () => {
    const { desk, terminal, type, next, leaving } = sitDown();
    const line = next();
    expect(terminal.screen()).toBe('\n> ▏\na message, or /help\n');
    desk.print(['', 'something that was said']);
    await type('hello');
    expect(terminal.screen()).toBe('\nsomething that was said\n\n> hello▏\n');
    await type('\r');
    expect(await line).toBe('hello');
    const second = next();
    leaving.abort();
    expect(await second).toBeUndefined();
    desk.close();
    expect(terminal.screen()).not.toContain('▏');
  });

  it('keeps what is being typed while a turn begins, is shown and ends', async () => {
    const { desk, terminal, type, next, leaving } = sitDown();
    void next();
    await type('half a tho');
    const view = desk.openView();
    expect(terminal.screen()).toContain('> half a tho▏');
    await type('ught');
    desk.print(['said meanwhile']);
    expect(terminal.screen()).toMatch(/said meanwhile\n[^]*> half a thought▏/);
    view.end({ tone: 'good', text: 'success' });
    expect(terminal.screen()).toMatch(/✓ success\n\n> half a thought▏\n$/);
    expect(terminal.text().match(/half a thought/g)).toHaveLength(1);
    leaving.abort();
  });

  it('gives the keyboard to a question, then goes on with the line', async () => {
    const { desk, type, next, modes, leaving } = sitDown();
    const line = next();
    await type('before');
    const asked: string[] = [];
    const answer = desk.questions!.read((text) => void asked.push(text), new AbortController().signal);
    await type('yes');
    await type('\r');
    expect(await answer).toBe('yes');
    expect(asked.at(-1)).toBe('yes▏');
    await type(' and after\r');
    expect(await line).toBe('before and after');
    expect(desk.restore('not sent')).toBe(true);
    const again = next();
    await type('!\r');
    expect(await again).toBe('not sent!');
    // Also while it is being written on.
    const third = next();
    await type('');
    expect(desk.restore('refused')).toBe(true);
    expect(desk.restore('another')).toBe(false);
    await type('?\r');
    expect(await third).toBe('refused?');
    leaving.abort();
    expect(modes).toEqual([true]);
    desk.close();
    expect(modes).toEqual([true, false]);
  });

  it('keeps what is typed before anybody asks for it, and what is entered together', async () => {
    const { desk, type, next } = sitDown();
    await type('early\r');
    await type('and more');
    expect(await next()).toBe('early');
    const second = next();
    await type('\r');
    expect(await second).toBe('and more');
    await type('left');
    const third = next();
    await type(' over');
    expect(desk.close()).toBe('left over');
    void third;
  });

  it('shows several lines, and of many those around the cursor', async () => {
    const { terminal, type, next, leaving } = sitDown();
    void next();
    await type('\x1b[200~one\ntwo\nthree\x1b[201~');
    expect(terminal.screen()).toContain('\n> one\n  two\n  three▏\n');
    await type(`\x1b[200~${'\nmore'.repeat(20)}\x1b[201~`);
    expect(terminal.screen()).toMatch(/ {2}more▏\n {2}\(and 15 more lines\)\n/);
    leaving.abort();
  });

  it('ends at Ctrl-D on an empty line, and not on another', async () => {
    const { type, next } = sitDown();
    const line = next();
    await type('x\x04\x7f\x04');
    expect(await line).toBeUndefined();
  });
});
