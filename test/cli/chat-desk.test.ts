/** A chat at a terminal: one line to write on, questions that take it and give it back, and a view in between. */
import { PassThrough } from 'node:stream';
import { setImmediate as tick } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openTerminal } from '../../cli/chat/desk.js';
import { createLineReader } from '../../cli/line-reader.js';
import { createFakeTerminal } from './fake-terminal.js';

function sitDown() {
  const stream = new PassThrough();
  const modes: boolean[] = [];
  const keys = Object.assign(stream, { setRawMode: (mode: boolean) => (modes.push(mode), keys) });
  const terminal = createFakeTerminal(50, 12);
  const reader = createLineReader(keys as unknown as Parameters<typeof createLineReader>[0], () => {});
  const desk = openTerminal(terminal.stream, reader);
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
    await type('yes\r');
    expect(await answer).toBe('yes');
    expect(asked.at(-1)).toBe('yes▏');
    await type(' and after\r');
    expect(await line).toBe('before and after');
    desk.restore('not sent');
    const again = next();
    await type('!\r');
    expect(await again).toBe('not sent!');
    leaving.abort();
    expect(modes.at(-1)).toBe(false);
  });

  it('ends at Ctrl-D on an empty line, and not on another', async () => {
    const { type, next } = sitDown();
    const line = next();
    await type('x\x04\x7f\x04');
    expect(await line).toBeUndefined();
  });
});
