/** What a run looks like while it happens, and what is left of it when it has ended. */
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { StreamEvent } from '../../client/index.js';
import { describeRun } from '../../cli/describe-run.js';
import { createNotices } from '../../cli/notices.js';
import { stylesFor } from '../../cli/terminal.js';
import { fit, printable, textWidth, wrap } from '../../cli/text-width.js';
import { createPlainView } from '../../cli/view/plain-view.js';
import { createTerminalView } from '../../cli/view/terminal-view.js';
import type { DurableEvent } from '../../contract/events.js';
import { projectSnapshot } from '../../contract/snapshot.js';
import { createFakeTerminal } from './fake-terminal.js';

const provenance = { run_id: 'r', agent_id: 'a.b', root_run_id: 'r' };
let seq = 0;

/** An event with as much of its envelope as views look at. */
function durable(type: string, fields: object = {}): StreamEvent {
  return { type, seq: seq++, at: '2026-01-01T00:00:00.000Z', ...provenance, ...fields } as unknown as StreamEvent;
}

function live(type: string, fields: object = {}): StreamEvent {
  return { type, live_id: `live_${seq++}`, ...provenance, ...fields } as unknown as StreamEvent;
}

const chunk = (text: string, attempt = 1, block = 'step_1.block_1') =>
  live('text_chunk', { step_id: 'step_1', block_id: block, attempt, index: 0, text });
const end = (text: string, attempt = 1) =>
  durable('text_end', { step_id: 'step_1', block_id: 'step_1.block_1', attempt, text });
const retracted = (attempt: number) => ({ step_id: 'step_1', attempt });
const done = { tone: 'good', text: 'success · r' } as const;

describe('a run on a terminal', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Shows the events one by one, a frame after each, and gives the terminal. */
  function show(events: StreamEvent[], terminal = createFakeTerminal()) {
    const view = createTerminalView(terminal.stream, { markdown: true });
    for (const event of events) {
      view.event(event);
      vi.advanceTimersByTime(100);
    }
    return { view, terminal };
  }

  it('shows text as it is written', () => {
    const { view, terminal } = show([chunk('Hello, '), chunk('wor')]);
    expect(terminal.screen()).toContain('Hello, wor\n');
    view.end(done);
    vi.advanceTimersByTime(1_000);
    expect(terminal.screen()).toContain('✓ success · r\n');
  });

  it('says which goals there are and what became of them', () => {
    const goals = [
      durable('goal_declared', { goal_id: 'goal_1', goal_type: 'summary', goal_data: {} }),
      durable('reprompted', { content: 'Go on.', reason: 'goal_1 is open' }),
      durable('goal_achieved', { goal_id: 'goal_1' }),
      durable('goal_failed', { goal_id: 'goal_2', reason: 'it was given up' }),
    ];
    const { view, terminal } = show(goals);
    view.end(done);
    const lines = ['goal_1: summary', 'the model is asked to go on: goal_1 is open', 'goal_1: achieved'];
    for (const line of lines) expect(terminal.text()).toContain(`↻ ${line}\n`);
    expect(terminal.text()).toContain('! goal_2: failed, it was given up\n');
    const out = new PassThrough();
    const plain = createPlainView(out, new PassThrough());
    for (const event of goals) plain.event(event);
    expect(String(out.read())).toBe(`${lines.join('\n')}\ngoal_2: failed, it was given up\n`);
  });

  it('leaves nothing of a retracted attempt, but says that there was one', () => {
    const events = [chunk('WRONG '.repeat(30)), live('attempt_retracted', retracted(1)), chunk('Right.', 2)];
    const { view, terminal } = show([...events, durable('attempt_retracted', retracted(1)), end('Right.', 2)]);
    view.end(done);
    expect(terminal.text()).not.toContain('WRONG');
    expect(terminal.text().match(/attempt 1 broke off, what it wrote/g)).toHaveLength(1);
    expect(terminal.text().match(/Right\./g)).toHaveLength(1);
  });

  it('leaves nothing of a retracted attempt that was longer than the screen', () => {
    const long = Array.from({ length: 40 }, (_, index) => `WRONG ${index}`).join('\n');
    const { view, terminal } = show([chunk(long), live('attempt_retracted', retracted(1)), end('Right.', 2)]);
    view.end(done);
    expect(terminal.text()).not.toContain('WRONG');
  });

  it('shows the end of a text that is longer than the screen, and at last the whole of it, once', () => {
    const words = Array.from({ length: 40 }, (_, index) => `line${index}.`);
    const { view, terminal } = show(words.map((word) => chunk(`${word}\n`)));
    expect(terminal.screen()).toContain('line39.');
    expect(terminal.screen()).not.toContain('line5.');
    view.event(end(words.join('\n')));
    view.end(done);
    for (const word of words) expect(terminal.text().split(word)).toHaveLength(2);
  });

  it('shows the whole text where live pieces of it were lost', () => {
    const { view, terminal } = show([chunk('One three'), end('One two three.')]);
    view.end(done);
    expect(terminal.text()).toContain('One two three.');
    expect(terminal.text()).not.toContain('One three');
  });

  it('shows a tool with its progress while it runs, and with its duration when it is done', () => {
    const tool = { step_id: 'step_1', tool_call_id: 'call_1_1', tool_id: 'a.b.c' };
    const { view, terminal } = show([
      durable('tool_requested', { ...tool, name: 'a.b.c', arguments: '{"x":1}' }),
      durable('tool_scheduled', { ...tool, timeout_ms: 1 }),
      live('tool_progress', { ...tool, message: 'half way', fraction: 0.5 }),
    ]);
    expect(terminal.screen()).toMatch(/[⠋-⠿] a\.b\.c \{"x":1\} {2}\d+ ms\n {4}half way 50 %\n/);
    view.event(durable('tool_result', { ...tool, status: 'success', name: 'a.b.c', duration_ms: 1_500, attempts: 2 }));
    view.end(done);
    expect(terminal.text()).toContain('✓ a.b.c {"x":1}  1.5 s, 2 attempts\n');
    expect(terminal.text()).not.toContain('half way');
  });

  it('obeys no escape sequence of a model', () => {
    const { view, terminal } = show([end('before\x1b[2J\x1b[31m after\x07\rX')]);
    view.end(done);
    expect(terminal.text()).toContain('before afterX');
  });
});

describe('a run on a pipe', () => {
  function show(events: StreamEvent[]): string {
    const out = new PassThrough();
    const view = createPlainView(out, new PassThrough());
    for (const event of events) view.event(event);
    view.end(done);
    return String(out.read());
  }

  it('adds what was not heard live', () => {
    expect(show([chunk('One '), end('One two.')])).toBe('\nOne two.\n\nsuccess · r\n');
    expect(show([end('One two.')])).toBe('\nOne two.\n\nsuccess · r\n');
  });

  it('takes control sequences out, wherever the pieces of a text are cut', () => {
    const text = 'a\x1b[1;31mb\x1b]0;title\x07c\x1b]52;c;c3RvbGVu\x1b\\d\u009b2Je\tf\x1b';
    for (let at = 1; at < text.length; at++) {
      const pieces = [chunk(text.slice(0, at)), chunk(text.slice(at))];
      expect(show([...pieces, end(text)])).toBe('\nabcde\tf\n\nsuccess · r\n');
    }
    expect(show([...text.split('').map((piece) => chunk(piece)), end(text)])).toBe('\nabcde\tf\n\nsuccess · r\n');
  });

  it('waits for no end of a sequence that has none', () => {
    const out = new PassThrough();
    createPlainView(out, new PassThrough()).event(chunk(`\x1b]0;${'x'.repeat(5_000)}`));
    expect(String(out.read()).replace(/^[^x]*/, '')).toHaveLength(5_000);
  });

  it('says what tools say to the user, and the command’s own notes, without them', () => {
    const [out, errors] = [new PassThrough(), new PassThrough()];
    const view = createPlainView(out, errors);
    view.event(durable('notice_posted', { text: 'one\x1b]0;title\x07 two' }));
    view.event(durable('file_generated', { filename: 'a\x1b[2Jb', mime_type: 'x/\u009b2J', byte_size: 1 }));
    view.note('three\x1b[2J four');
    view.end({ tone: 'bad', text: 'failed', reason: 'five\x1b[2J six' });
    expect(String(out.read())).toBe('one two\nfile: ab (x/, 1 byte)\nfive six\n\nfailed\n');
    expect(String(errors.read())).toBe('three four\n');
  });

  it('writes a text again when pieces of it were lost', () => {
    const text = show([chunk('One three'), end('One two three.')]);
    expect(text).toBe(
      '\nOne three\n[some of the text above was lost on the way: here it is whole]\n\nOne two three.\n\nsuccess · r\n',
    );
  });

  it('says once that an attempt is void, and nothing where it had written nothing', () => {
    const both = [live('attempt_retracted', retracted(1)), durable('attempt_retracted', retracted(1))];
    expect(show([chunk('Wrong'), ...both, end('Right.', 2)])).toBe(
      '\nWrong\n[attempt 1 was retracted: what it wrote above is void]\n\nRight.\n\nsuccess · r\n',
    );
    expect(show([...both, end('Right.', 2)])).toBe('\nRight.\n\nsuccess · r\n');
  });
});

describe('a worker’s notices', () => {
  it('have no control sequences on a pipe', () => {
    const stream = new PassThrough();
    const notices = createNotices(stream as unknown as typeof process.stderr);
    notices.passing('mcp: one\x1b]0;title\x07 two');
    notices.lasting('mcp: three\x1b]52;c;c3RvbGVu\x07 four\u009b2J');
    expect(String(stream.read())).toBe('mcp: one two\nmcp: three four\n');
  });
});

describe('what is told of a run', () => {
  it('has no control sequences, whatever its ids and its thread are called', () => {
    const evil = '\x1b]52;c;c3RvbGVu\x07one\u009b2J two';
    const run = { run_id: evil, agent_id: evil, root_run_id: evil, parent_run_id: `${evil}3`, thread_id: evil };
    const snapshot = projectSnapshot([durable('run_started', { ...run, input: evil }) as DurableEvent]);
    if (snapshot === undefined) throw new Error('there is no snapshot');
    const styles = stylesFor({ isTTY: false });
    const told = describeRun({ snapshot, pauses: [], styles, width: 200, flags: '', markdown: false });
    expect(told).toContain('thread   one two');
    // oxlint-disable-next-line no-control-regex -- control characters are what this is about
    expect(told).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/);
  });
});

describe('lines of a terminal', () => {
  it('are broken at spaces, and words that are too long anywhere', () => {
    expect(wrap('one two three', 7)).toEqual(['one two', 'three']);
    expect(wrap('abcdefghij', 4)).toEqual(['abcd', 'efgh', 'ij']);
    expect(wrap('a\n\n  b', 10)).toEqual(['a', '', '  b']);
  });

  it('are measured in columns', () => {
    expect(textWidth('日本🎉e\u0301')).toBe(7);
    expect(wrap('日本語日本語', 5)).toEqual(['日本', '語日', '本語']);
    expect(fit('日本語', 5)).toBe('日本…');
  });

  it('hold no control characters', () => {
    expect(printable('a\tb\x1b]0;title\x07\x00c\r\nd')).toBe('a    bc\nd');
  });
});
