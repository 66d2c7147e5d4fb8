/** `perdure chat` by a pipe, on a server that is there or through its gateway: what it shows, how it ends, and how one comes back. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { app, finished, perdure, script, startDev, testFolder } from './command.js';
import type { Dev } from './command.js';

let dev: Dev;
beforeAll(async () => {
  dev = await startDev(app);
});
afterAll(() => dev.stop());

/** The script of a thread is its first message. */
const chatBy = (ways: () => string[], lines: string[], ...flags: string[]) =>
  perdure(['chat', ...flags, ...ways()], { stdin: lines.map((line) => `${line}\n`).join('') });
const chat = (lines: string[], ...flags: string[]) => chatBy(() => dev.flags, lines, ...flags);
const threadIn = (stderr: string) => /^thread (thr_\S+) with/m.exec(stderr)?.[1] ?? '';
/** Without what differs from turn to turn. */
const spoken = (stdout: string) => stdout.replaceAll(/^(success|failed|canceled) · .*$/gm, '$1');

describe.each([
  ['over Temporal', () => dev.flags, '--address '],
  ['through a gateway', () => ['--url', dev.http], '--url '],
])('lines from a pipe, %s,', (_how, ways, flag) => {
  const chat = (lines: string[], ...flags: string[]) => chatBy(ways, lines, ...flags);

  it('are messages, each sent when the turn before it is over; commands are obeyed', async () => {
    const wait = { tool_calls: [{ tool: 'test.work.wait', args: { ms: 5 } }] };
    const first = script({ text: 'First.' }, { ...wait, text: 'Looking.' }, { text: 'Second.' }, { text: 'Third.' });
    const lines = [first, 'and then?', '', '/title A talk', '//home', '/cancel'];
    const { code, stdout, stderr } = await finished(chat(lines, 'test.script'));
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('title: A talk\n') });
    expect(spoken(stdout)).toMatch(
      /^\n> \{"turns".*\n\nFirst\.\n\nsuccess\n\n> and then\?\n\nLooking\.\ntool: .*\n.*half way\ntool: .* done in .*\n\nSecond\.\n\nsuccess\n\n> \/home\n\nThird\.\n\nsuccess\n$/,
    );
    const threadId = threadIn(stderr);
    expect(stderr).toContain('there is no turn to cancel');
    expect(stderr).toMatch(new RegExp(`It stays as it is. To come back: .* chat --thread ${threadId} ${flag}`));
  });

  it('in a second process, shows what was said, and goes on with it', async () => {
    const first = script(
      { thinking: 'Hm.', tool_calls: [{ tool: 'test.work.fail' }] },
      { text: 'One.' },
      { text: 'Two.' },
    );
    const { stderr } = await finished(chat([first], 'test.script'));
    const threadId = threadIn(stderr);
    const again = await finished(chat(['once more'], '--thread', threadId));
    expect(again).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`thread ${threadId} with test.script: {"turns`),
    });
    expect(spoken(again.stdout)).toMatch(
      /^\n> \{"turns".*\n\n✗ fail \{\} error {2}\d+ ms\n\nOne\.\n\n> once more\n\nTwo\.\n\nsuccess\n$/,
    );
    const history = await finished(chat(['/history'], '--thread', threadId));
    expect(history.stdout).toMatch(
      /\[0\] user\n> \{"turns.*\n\n\[1\] assistant\n[^]*\[2\] tools\n\n\[3\] assistant\nOne\.\n\n\[4\] user\n> once more\n\n\[5\] assistant\nTwo\.\n$/,
    );
  });

  it('can fork, and the other thread stays as it was', async () => {
    const lines = [script({ text: 'One.' }, { text: 'Two.' }), '/fork 1', 'in the fork', '/fork 9'];
    const { code, stdout, stderr } = await finished(chat(lines, 'test.script'));
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('the number of a message, 0 to 3') });
    expect(stdout.match(/^One\.$/gm)).toHaveLength(2);
    const [source, fork] = [threadIn(stderr), /you are now in (thr_\S+)\./.exec(stderr)?.[1] ?? ''];
    expect(stdout).toContain(`${fork}/turn_1`);
    const history = await finished(chat([], '--thread', source));
    expect(history.stdout).not.toContain('in the fork');
  });

  it('has client tools answered by whoever reads what to type', async () => {
    const file = join(testFolder(), 'tools.json');
    writeFileSync(
      file,
      JSON.stringify([{ name: 'client_look', description: 'Looks.', input_schema: { type: 'object' } }]),
    );
    const first = script({ tool_calls: [{ tool: 'client.declared.client_look' }] }, { text: 'Seen.' });
    const command = chat([first], 'test.script', '--client-tools', file);
    const run = await command.printed(/answer (thr_\S+\/turn_1) --result call_1_1='…'/);
    const answer = ['answer', run, '--result', 'call_1_1="a cat"', ...ways()];
    expect(await finished(perdure(answer))).toMatchObject({ code: 0 });
    expect(await finished(command)).toMatchObject({ code: 0, stdout: expect.stringContaining('Seen.') });
  });

  it('answer what a turn asks, and the turn goes on; who comes back sees it all', async () => {
    const ask = { tool: 'runtime.user.ask_clarification', args: { question: 'Which lake?' } };
    const first = script(
      { text: 'Hm.', tool_calls: [ask] },
      { tool_calls: [ask] },
      { text: 'Deep.' },
      { text: 'Bye.' },
    );
    const { code, stdout, stderr } = await finished(chat([first, 'Geneva', 'All of it', 'thanks'], 'test.other'));
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('Which lake?') });
    expect(spoken(stdout)).toMatch(/Deep\.\n\nsuccess\n\n> thanks\n\nBye\.\n\nsuccess\n$/);
    const history = await finished(chat(['/history'], '--thread', threadIn(stderr)));
    expect(history.stdout).toMatch(
      /\[2\] assistant\nWhich lake\?\n\n\[3\] user\n> Geneva\n[^]*\[7\] user\n> All of it\n[^]*\[9\] assistant\nDeep\./,
    );
  });

  it('leaves no thread behind where nothing was said', async () => {
    const { code, stderr } = await finished(chat(['/history'], 'test.script'));
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('nothing was said yet') });
    expect(stderr).not.toContain('come back');
    const gone = await finished(chat([], '--thread', threadIn(stderr)));
    expect(gone).toMatchObject({ code: 2, stderr: expect.stringContaining('there is no thread') });
  });
});

describe('the exit code', () => {
  it('is that of the first turn that did not succeed; the others are held all the same', async () => {
    const first = script({ text: 'One.' }, { fail: { code: 'model_bad_request' } });
    const { code, stdout } = await finished(chat([first, 'fail', 'fail again'], 'test.script'));
    expect(code).toBe(1);
    expect(stdout.match(/model_bad_request: /g)).toHaveLength(2);
  });

  it.each([
    ['a thread that is not there', ['--thread', 'thr_nowhere'], 'there is no thread "thr_nowhere"'],
    ['a thread and an agent', ['test.script', '--thread', 'thr_x'], 'A thread has its agent'],
    ['tools that are none', ['test.script', '--client-tools', '/nowhere.json'], '/nowhere.json cannot be read'],
  ])('is 2 for %s, without a stack', async (_what, flags, message) => {
    const { code, stdout, stderr } = await finished(chat(['hello'], ...flags));
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
    expect(stderr).not.toMatch(/^ {4}at /m);
  });

  it('is 2 for an agent that the workers do not know', async () => {
    const { code, stderr } = await finished(chat(['hello'], 'test.nobody'));
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('test.nobody') });
  });

  it('is 5 where a gateway cannot be reached, and 2 for what it refuses', async () => {
    const gone = createServer().listen(0, '127.0.0.1');
    await once(gone, 'listening');
    const env = { PERDURE_URL: `http://127.0.0.1:${(gone.address() as AddressInfo).port}` };
    gone.close();
    const nobody = await finished(perdure(['chat'], { env }));
    expect(nobody).toMatchObject({ code: 5, stderr: expect.stringContaining('gave no answer: nothing listens there') });
    const through = (...flags: string[]) => finished(chatBy(() => ['--url', dev.http], ['hello'], ...flags));
    const unknown = await through('--thread', 'thr_nowhere');
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('there is no thread "thr_nowhere"') });
    const agent = await through('test.nobody');
    expect(agent).toMatchObject({ code: 2, stderr: expect.stringContaining('test.nobody') });
  });

  it('is 5 where no worker is there, and says so', async () => {
    const { code, stderr } = await finished(chat(['hello'], 'test.script', '--task-queue', 'nobody'));
    expect({ code, stderr }).toEqual({
      code: 5,
      stderr: expect.stringContaining('no worker polls the task queue "nobody"'),
    });
  });
});

describe('a gateway', () => {
  it('chooses the agent where none is named, and needs no configuration here', async () => {
    const command = perdure(['chat', '--url', dev.http], { cwd: testFolder(), stdin: `${script({ text: 'Hi.' })}\n` });
    const { code, stdout, stderr } = await finished(command);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^thread \S+ with test\.script$/m) });
    expect(stdout).toContain('\nHi.\n');
  });
});

describe('Ctrl-C', () => {
  it('cancels the turn, and the next line is sent', async () => {
    const command = chat([script({ text: 'I begin', hang: true }, { text: 'I go on.' }), 'go on'], 'test.script');
    await command.printed('begin');
    command.signal('SIGINT');
    const { code, stdout, stderr } = await finished(command);
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: expect.stringContaining('canceling: waiting for the turn to end'),
    });
    expect(spoken(stdout)).toMatch(/canceled: user_requested\n\ncanceled\n\n> go on\n\nI go on\.\n\nsuccess\n$/);
  });

  it('the second time, leaves: the thread goes on, also for whoever is not let in meanwhile', async () => {
    const command = chat([script({ text: 'I begin', hang: true }), 'never sent'], 'test.script');
    await command.printed('begin');
    const threadId = threadIn(command.stderr());
    const other = await finished(chat(['let me in'], '--thread', threadId));
    expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining('a turn that somebody else began') });
    // So that the cancel has no end before the second one comes.
    dev.command.signal('SIGSTOP');
    command.signal('SIGINT');
    await command.printed('canceling');
    command.signal('SIGINT');
    const { code, stderr, stdout } = await finished(command);
    dev.command.signal('SIGCONT');
    expect({ code, stderr }).toEqual({ code: 130, stderr: expect.stringContaining('Its turn goes on without us') });
    expect(stdout).not.toContain('never sent');
    const history = await finished(chat(['/history'], '--thread', threadId));
    expect(history).toMatchObject({ code: 0, stdout: expect.stringContaining('I begin') });
  });
});
