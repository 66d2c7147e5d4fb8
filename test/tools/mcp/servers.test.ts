/** One suite for both ways to a server. What is special to one way is in its own file; runs are in `runs.test.ts`. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { until } from '../../support/world.js';
import { anyRun, failureOf, openCaller } from './calling.js';
import type { Caller } from './calling.js';
import { NAMES, PIXEL } from './server-tools.js';
import { startServer, WAYS } from './start-server.js';
import type { TestServer } from './start-server.js';

describe.each(WAYS)('an MCP server over %s', (way) => {
  let server: TestServer;
  let caller: Caller;
  beforeAll(async () => {
    server = await startServer(way);
    caller = await openCaller(server);
  });
  afterAll(async () => {
    await caller.toolset.close();
    await server.stop();
  });
  /** For what would disturb the others. */
  const alone = async (env?: Record<string, string>, options?: Parameters<typeof openCaller>[1]) => {
    const own = await startServer(way, env);
    const ownCaller = await openCaller(own, options).catch(async (error: unknown) => {
      await own.stop();
      throw error;
    });
    onTestFinished(async () => {
      await ownCaller.toolset.close();
      await own.stop();
    });
    return { server: own, ...ownCaller };
  };

  it('has all its tools found, over several pages, with what it says about them', () => {
    expect(caller.found.map(({ source_name }) => source_name)).toEqual(NAMES);
    expect(caller.tool('echo')).toEqual({
      tool_id: 'mcp.fixture.echo',
      source_name: 'echo',
      description: 'Says it again.',
      parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
      idempotent: true,
      timeout_ms: 60_000,
    });
    expect(caller.tool('count_up').idempotent).toBe(true);
    expect(caller.tool('wait').idempotent).toBe(false);
    expect(caller.tool('createIssue').description).toBe('Makes an issue');
  });

  it('has its names made canonical, and is called by its own', async () => {
    expect(caller.tool('createIssue').tool_id).toBe('mcp.fixture.create_issue');
    expect(caller.tool('get-weather.by/city').tool_id).toBe('mcp.fixture.get_weather_by_city');
    expect(caller.tool('天気').tool_id).toBe('mcp.fixture.t__u5929_u6c17');
    for (const name of ['createIssue', 'get-weather.by/city', '天気']) {
      expect(await caller.call(name)).toBe(`${name} was called`);
    }
  });

  it('answers calls at the same time, over one connection', async () => {
    const texts = Array.from({ length: 20 }, (_, n) => `text ${n}`);
    expect(await Promise.all(texts.map((text) => caller.call('echo', { text })))).toEqual(texts);
    const log = await server.log();
    expect(log.filter((line) => line.startsWith('started'))).toHaveLength(1);
    expect(log.filter((line) => line === 'session')).toHaveLength(way === 'http' ? 1 : 0);
  });

  it('gets no call whose arguments do not fit the pinned schema', async () => {
    const failure = await failureOf(caller.call('echo', { text: 7 }));
    expect(failure.kind).toBe('invalid_call');
    await expect(caller.call('echo', { text: 7 })).rejects.toMatchObject({
      issues: [{ path: '', message: 'arguments/text must be string' }],
    });
    expect(await server.log()).not.toContain('called echo {"text":7}');
  });

  it('has its progress shown, with what there is to do in all', async () => {
    const notes: unknown[] = [];
    const progress = (...note: unknown[]) => void notes.push(note);
    expect(await caller.call('count_up', { steps: 4 }, { progress })).toBe('counted to 4');
    expect(notes).toEqual([
      ['step 1', 0.25],
      ['step 2', 0.5],
      ['step 3', 0.75],
      ['step 4', 1],
    ]);
  });

  it('has only so much of its progress kept', async () => {
    let notes = 0;
    await caller.call('count_up', { steps: 300 }, { progress: () => void (notes += 1) });
    expect(notes).toBe(100);
  });

  it('is told of a cancel, and the call returns without it', async () => {
    const stop = new AbortController();
    const call = caller.call('wait', {}, { signal: stop.signal });
    await until(async () => (await server.log()).includes('called wait {}'), 'the call');
    stop.abort(new Error('enough'));
    await expect(call).rejects.toThrow(/enough/);
    await until(async () => (await server.log()).some((line) => line.startsWith('canceled')), 'the cancel');
  });

  it('is given the key of the call, for what must not happen twice', async () => {
    expect(JSON.parse((await caller.call('meta')) as string)).toMatchObject({
      'perdure/idempotency_key': 'run-1/call_1_1',
    });
  });

  it('may answer at length', async () => {
    expect(((await caller.call('big', { bytes: 4 * 1024 * 1024 })) as string).length).toBe(4 * 1024 * 1024);
  });

  it('has its pictures shown, and all else as text, some of it with a file', async () => {
    const files: string[] = [];
    const file = async ({ filename }: { filename: string }) => {
      files.push(filename);
      return { file_id: `file_${files.length}` };
    };
    expect(await caller.call('gallery', {}, { file })).toEqual([
      { type: 'text', text: 'look' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}`, media_type: 'image/png' } },
      {
        type: 'text',
        text: [
          '[audio: audio/wav, 4 bytes, kept as file file_1]',
          '[resource file:///notes.txt]\na note',
          '[resource file:///report.pdf: application/pdf, 8 bytes, kept as file file_2]',
          '[resource data: https://example.org/data.csv (text/csv)]',
        ].join('\n\n'),
      },
    ]);
    expect(files).toEqual(['audio.wav', 'report.pdf']);
  });

  it('has structured content read as JSON', async () => {
    expect(await caller.call('structured')).toBe('{"answer":42}');
  });

  it('has its own failures read by the model, and not repeated', async () => {
    expect(await failureOf(caller.call('fail', { message: 'no such city' }))).toEqual({
      kind: 'internal',
      message: 'no such city',
      retryable: false,
    });
    const long = await failureOf(caller.call('fail', { message: 'x'.repeat(100_000) }));
    expect(long.message.length).toBeLessThan(10_000);
    expect(long.message).toMatch(/cut: the whole text has 100000 characters, kept as output art_/);
  });

  it.each([
    [-32602, 'invalid_call'],
    [-32601, 'unavailable'],
    [-32603, 'internal'],
    [-31999, 'internal'],
  ])('that answers with the error %i makes the call fail as %s', async (code, kind) => {
    const failure = await failureOf(caller.call('refuse', { code }));
    expect(failure).toMatchObject({ kind, retryable: false });
    expect(failure.message).toContain('the server says no');
  });

  it('whose list has changed is called by what was pinned, and says what is gone', async () => {
    const own = await alone();
    await own.server.changeList();
    expect(await failureOf(own.call('echo', { text: 'still there?' }))).toEqual({
      kind: 'unavailable',
      message: expect.stringMatching(/^MCP server "fixture" \(.*\) no longer has the tool "echo"\.$/) as string,
      retryable: false,
    });
    expect(await own.call('createIssue')).toBe('createIssue was called');
    expect((await own.toolset.discover(AbortSignal.timeout(60_000), anyRun)).map((tool) => tool.tool_id)).toContain(
      'mcp.fixture.repeat',
    );
  });

  it('that dies in the middle leaves open what it did, and is there again for the next call', async () => {
    const own = await alone();
    const failure = await failureOf(own.call('die'));
    expect(failure).toMatchObject({ kind: 'outcome_unknown', retryable: false });
    expect(failure.message).toContain('may or may not have taken effect');
    if (way === 'http') await own.server.restart();
    expect(await own.call('echo', { text: 'again' })).toBe('again');
  });

  it('that dies in a call which is safe to repeat may be tried again', async () => {
    const own = await alone();
    const marker = join(own.server.folder, 'marker');
    expect(await failureOf(own.call('die_once', { marker }))).toMatchObject({ kind: 'internal', retryable: true });
    if (way === 'http') await own.server.restart();
    expect(await own.call('die_once', { marker })).toBe('alive');
  });

  it('that dies takes the other calls under way with it', async () => {
    const own = await alone();
    const other = failureOf(own.call('hang'));
    await until(async () => (await own.server.log()).includes('called hang {}'), 'the call');
    await failureOf(own.call('die'));
    expect((await other).kind).toBe('outcome_unknown');
  });

  it('that was started anew between two calls is found again', async () => {
    const own = await alone();
    await own.server.restart();
    await until(async () => way === 'http' || (await own.server.alive()).length === 0, 'its end');
    expect(await own.call('wait', {}, { signal: AbortSignal.timeout(1) }).catch(String)).toMatch(/Timeout/);
    expect(await own.call('echo', { text: 'again' })).toBe('again');
  });

  it('that neither answers a call nor a ping is started anew', async () => {
    const own = await alone();
    const call = own.call('freeze', {}, { signal: AbortSignal.timeout(2_000) });
    await expect(call).rejects.toThrow(/timeout/i);
    await until(() => own.reported.includes('it does not answer any more, and is closed'), 'the end of patience');
    if (way === 'http') await own.server.restart();
    expect(await own.call('echo', { text: 'again' })).toBe('again');
  });

  it('that does not answer at the start is named, with what to do', async () => {
    await expect(alone({ MCP_MODE: 'silent' }, { connect_timeout: 2_000 })).rejects.toMatchObject({
      code: 'toolset_unavailable',
      message: expect.stringMatching(
        /^MCP server "fixture" \(.*\) did not list its tools: no answer within 2000 ms\. Check that/,
      ) as string,
    });
  });

  it('whose list has no end is refused', async () => {
    await expect(alone({ MCP_MODE: 'endless' })).rejects.toMatchObject({
      code: 'toolset_invalid',
      message: expect.stringMatching(/list of tools has no end/) as string,
    });
  });

  it('has only those of its tools that are asked for, and the log says which it lacks', async () => {
    const own = await alone({}, { tools: ['echo', 'createIssue', 'missing'] });
    expect(own.found.map(({ source_name }) => source_name)).toEqual(['echo', 'createIssue']);
    expect(own.reported).toContain('it has no tool "missing"');
  });

  it('has what may destroy approved by a person, where that is asked for', async () => {
    const own = await alone({}, { approve_destructive: true });
    const asking = own.found.filter(({ approval }) => approval === 'always').map(({ source_name }) => source_name);
    expect(asking).toContain('createIssue');
    // What says nothing may destroy; what only reads, or says so, does not.
    expect(asking).toContain('wait');
    expect(asking).not.toContain('echo');
    expect(asking).not.toContain('count_up');
  });
});
