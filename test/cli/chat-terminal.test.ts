/** `perdure chat` at a real pseudo terminal: what is typed and pasted reaches the thread, whole and once. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startOwnServer } from '../support/kept-histories.js';
import { app, finished, perdure, script, startDev, temporaryFolder, testFolder } from './command.js';
import type { Dev } from './command.js';
import { sitDownAt } from './pseudo-terminal.js';
import type { Seat } from './pseudo-terminal.js';

const SIZE = { rows: 60, columns: 130 };
const LINE = /> ▏\n/;
const [PASTE, END] = ['\x1b[200~', '\x1b[201~'];
interface Message {
  role: string;
  content: { text: string }[];
}

/** A thread that answers so many messages. */
const answers = (count: number) => script(...Array.from({ length: count }, (_, n) => ({ text: `Answer ${n + 1}.` })));
const threadOf = (seat: Seat) => /thread (thr_\S+) with/.exec(seat.text())?.[1] ?? '';

describe.each([
  ['over Temporal', (dev: Dev) => dev.flags],
  ['through a gateway', (dev: Dev) => ['--url', dev.http]],
])('a chat at a terminal %s', { timeout: 120_000 }, (_how, flagsOf) => {
  let dev: Dev;
  beforeAll(async () => {
    dev = await startDev(app);
  });
  afterAll(() => dev.stop());

  async function sitDown(turns: number, ...more: string[]) {
    const state = testFolder();
    const env = { XDG_STATE_HOME: state };
    const seat = sitDownAt(['chat', 'test.script', ...more, ...flagsOf(dev)], { env, ...SIZE });
    await seat.shows(LINE);
    seat.type(`${answers(turns)}\r`);
    await seat.shows(/\nAnswer 1\.\n[^]*✓ success[^]*> ▏\n/);
    return { seat, env, thread: threadOf(seat), history: join(state, 'perdure/chat-history') };
  }
  /** What the thread was told after its script, as the thread has it. */
  async function told(thread: string): Promise<string[]> {
    const response = await fetch(`${dev.http}/v1/ai/threads/${thread}`);
    const { data } = (await response.json()) as { data: { messages: Message[] } };
    const texts = data.messages.filter(({ role }) => role === 'user').map(({ content }) => content[0]?.text ?? '');
    return texts.slice(1);
  }

  it('makes one message of pasted lines, told by the terminal or by their coming together', async () => {
    const { seat, thread } = await sitDown(4);
    expect(seat.raw()).toContain('\x1b[?2004h');
    seat.type(`${PASTE}first\nsecond\nthird${END}`);
    await seat.shows('> first\n  second\n  third▏');
    seat.type('\r');
    await seat.shows(/> first\n {2}second\n {2}third\n\nAnswer 2\.\n[^]*✓ success[^]*> ▏\n/);
    seat.type('one\rtwo\rthree\r');
    await seat.shows(/\nAnswer 3\.\n[^]*> ▏\n/);
    // Of a terminal that sends them piece by piece.
    seat.type('four\rfive\r');
    seat.type('six');
    await seat.shows('  six▏');
    seat.type('\r');
    await seat.shows(/\nAnswer 4\.\n[^]*> ▏\n/);
    expect(await told(thread)).toEqual(['first\nsecond\nthird', 'one\ntwo\nthree', 'four\nfive\nsix']);
    seat.type('\x04');
    expect(await seat.exited).toBe(0);
    expect(seat.raw().endsWith('\x1b[?2004l') || seat.raw().includes('\x1b[?2004l')).toBe(true);
  });

  it('is edited as in a shell, and the arrows bring back what was entered, also in the next chat', async () => {
    const { seat, env, thread, history } = await sitDown(4);
    seat.type('wrold');
    seat.type('\x17hello world\x1b[1;5D\x0beveryone\x01');
    await seat.shows('> ▏hello everyone');
    seat.type('Oh, \x05!\r');
    await seat.shows(/\nAnswer 2\.\n[^]*> ▏\n/);
    seat.type('half\x1b[A');
    await seat.shows('> Oh, hello everyone!▏');
    seat.type('\x1b[B');
    await seat.shows('> half▏');
    seat.type('\x1b[A?\r');
    await seat.shows(/\nAnswer 3\.\n[^]*> ▏\n/);
    expect(await told(thread)).toEqual(['Oh, hello everyone!', 'Oh, hello everyone!?']);
    seat.type('not entered');
    await seat.shows('> not entered▏');
    seat.type('\x03\x03');
    expect(await seat.exited).toBe(130);
    expect(seat.text()).toContain('not sent, and in the history of the next chat: not entered');
    expect(readFileSync(history, 'utf8')).toMatch(/"Oh, hello everyone!"\n"Oh, hello everyone!\?"\n"not entered"\n$/);
    const again = sitDownAt(['chat', '--thread', thread, ...flagsOf(dev)], { env, ...SIZE });
    await again.shows(LINE);
    again.type('\x1b[A\x1b[A');
    await again.shows('> Oh, hello everyone!?▏');
    again.type('\x15\x04');
    expect(await again.exited).toBe(0);
  });

  it('keeps what is typed before it is ready, a Ctrl-D too, and while a turn goes on', async () => {
    const { seat, thread } = await sitDown(3);
    seat.type('next\r');
    await seat.shows('> next\n');
    seat.type('typed meanwhile\r');
    await seat.shows(/\nAnswer 3\.\n[^]*> ▏\n/);
    expect(await told(thread)).toEqual(['next', 'typed meanwhile']);
    seat.type('\x04');
    expect(await seat.exited).toBe(0);
    const early = sitDownAt(['chat', '--thread', thread, ...flagsOf(dev)], SIZE);
    // What was said is on the screen before anybody asks for a line.
    await early.shows(/\nAnswer 1\.\n/);
    early.type('\x04');
    expect(await early.exited).toBe(0);
  });

  it('sends what was entered just before one leaves', async () => {
    const { seat, thread } = await sitDown(2);
    seat.type('the last word\r\x04');
    expect(await seat.exited).toBe(0);
    expect(seat.text()).not.toContain('not sent');
    const back = await finished(perdure(['chat', '--thread', thread, ...flagsOf(dev)]));
    expect(back.stdout).toContain('> the last word');
  });
});

describe('a chat at a terminal whose server goes', { timeout: 180_000 }, () => {
  it('keeps what is entered meanwhile, sends it when the server is back, and says what it could not send', async () => {
    const folder = temporaryFolder();
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const startServer = (port: number) =>
      startOwnServer({ dataDir: join(folder, 'server'), port, payloads: join(folder, 'data', 'payloads') });
    let server = await startServer(0);
    const flags = ['--address', server.address, '--data-dir', join(folder, 'data')];
    const worker = perdure(['worker', ...flags]);
    onTestFinished(async () => {
      worker.signal('SIGTERM');
      await worker.exited;
      await server.stop();
    });
    await worker.printed('worker for test.script');
    const env = { XDG_STATE_HOME: folder };
    const seat = sitDownAt(['chat', 'test.script', ...flags], { env, ...SIZE });
    await seat.shows(LINE);
    seat.type(`${answers(3)}\r`);
    await seat.shows(/\nAnswer 1\.\n[^]*✓ success[^]*> ▏\n/);
    process.kill(server.pid, 'SIGKILL');
    await server.exited;
    seat.type('are you there?\r');
    await seat.shows('Your message is kept');
    seat.type('and a second one\r');
    await seat.shows('it waits to be sent: and a second one');
    seat.type('a third');
    await seat.shows('> a third▏');
    server = await startServer(Number(server.address.split(':')[1]));
    await seat.shows(/\nAnswer 2\.\n[^]*\nAnswer 3\.\n[^]*> a third▏/);
    const thread = threadOf(seat);
    const history = await finished(perdure(['chat', '--thread', thread, ...flags]));
    expect(history.stdout.match(/^> are you there\?$/gm)).toHaveLength(1);
    expect(history.stdout.match(/^> and a second one$/gm)).toHaveLength(1);

    await server.keep();
    process.kill(server.pid, 'SIGKILL');
    await server.exited;
    seat.type('\r');
    await seat.shows(/kept[^]*kept/);
    seat.type('/quit\r');
    expect(await seat.exited).toBe(0);
    expect(seat.text()).toContain('not sent, and in the history of the next chat: a third');
    expect(seat.text()).not.toMatch(/DEADLINE|UNAVAILABLE|Deadline exceeded/);
    expect(readFileSync(join(folder, 'perdure/chat-history'), 'utf8')).toContain('"a third"\n');
    server = await startServer(Number(server.address.split(':')[1]));
  });
});
