/** Servers that would hold up the whole worker: by their schemas, their lists, or what they answer. */
import { afterEach, describe, expect, it } from 'vitest';
import { defineAgent } from '../../../kit/index.js';
import { scripted, scriptFromInput } from '../../../providers/index.js';
import { mcpServer } from '../../../tools/index.js';
import { script } from '../../support/test-agents.js';
import { createWorld, ofType, until } from '../../support/world.js';
import { answer, startBadServer } from './bad-server.js';
import type { Asked, BadServer } from './bad-server.js';
import { failureOf } from './calling.js';

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const start = async (given: Parameters<typeof startBadServer>[0]) => {
  const server = await startBadServer(given);
  ends.push(() => server.stop());
  return server;
};
const listOf = (...tools: object[]) => ({ list: () => ({ tools }) });

/** Each definition names the next one twice. */
const doubling = (levels: number) => ({
  type: 'object',
  allOf: [{ $ref: '#/$defs/d0' }],
  $defs: Object.fromEntries(
    Array.from({ length: levels }, (_, n) => [
      `d${n}`,
      n === levels - 1 ? { type: 'object' } : { allOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] },
    ]),
  ),
});
/** The same below a property, where nothing takes it into the root. */
const doublingBelow = (levels: number) => {
  const { $defs } = doubling(levels);
  return { type: 'object', properties: { a: { $ref: '#/$defs/d0' } }, $defs };
};
const fanOut = (ways: number) => {
  const all = Array.from({ length: ways }, () => ({ $ref: '#/$defs/a' }));
  return { allOf: all, $defs: { a: { allOf: all } } };
};
const deep = (levels: number) => {
  let schema: object = {};
  for (let n = 0; n < levels; n++) schema = { properties: { a: schema } };
  return { type: 'object', ...schema };
};
const wide = (properties: number) => ({
  type: 'object',
  properties: Object.fromEntries(Array.from({ length: properties }, (_, n) => [`p${n}`, {}])),
});

/** That the process does other work meanwhile: the longest time in which it did none. */
function watchPauses(): () => number {
  let last = performance.now();
  let longest = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  }, 10);
  return () => {
    clearInterval(timer);
    return longest;
  };
}

const SLOW_PATTERN = { type: 'object', properties: { text: { type: 'string', pattern: '^(a+)+$' } } };
const SLOW_TEXT = { text: `${'a'.repeat(40)}!` };

describe('a schema that takes for ever', () => {
  it.each([
    ['each reference leads to a hundred more', fanOut(100), /references lead to more than 1000 schemas/],
    ['it is nested too deep', deep(1_000), /nested more than 64 levels deep/],
    ['it has too many properties', wide(20_000), /more than \d+ (?:characters|values)/],
    ['it is too long', { type: 'object', description: 'x'.repeat(200_000) }, /more than 131072 characters/],
    ['what it is called is too long', undefined, /its name has 5000 characters/],
  ])('is refused with its tool and the reason: %s', async (_what, inputSchema, why) => {
    const name = inputSchema === undefined ? 'n'.repeat(5_000) : 'evil';
    const tools = [
      { name: 'good', inputSchema: {} },
      { name, inputSchema: inputSchema ?? {} },
    ];
    const required = await start(listOf(...tools));
    const pauses = watchPauses();
    await expect(required.discover()).rejects.toMatchObject({
      code: 'toolset_invalid',
      message: expect.stringMatching(why) as string,
    });
    await expect(required.discover()).rejects.toThrow(`its tool "${name.slice(0, 200)}" cannot be taken`);
    const optional = await start({ ...listOf(...tools), options: { optional: true } });
    expect((await optional.discover()).map((tool) => tool.source_name)).toEqual(['good']);
    expect(optional.reported.join()).toMatch(why);
    expect(pauses()).toBeLessThan(1_000);
  });

  it('on nothing at all is found out when the tools are listed, within seconds', async () => {
    const server = await start(listOf({ name: 'evil', inputSchema: doublingAlways(40) }));
    const pauses = watchPauses();
    await expect(server.discover()).rejects.toMatchObject({
      code: 'toolset_invalid',
      message: expect.stringMatching(
        /its tool "evil" cannot be taken: its schema cannot be evaluated: .* 2 s/,
      ) as string,
    });
    expect(pauses()).toBeLessThan(1_000);
  });

  it('is one of many that have one deadline together, also where each may be left out', async () => {
    const tools = Array.from({ length: 200 }, (_, n) => ({
      name: `evil_${n}`,
      inputSchema: doublingAlways(40 + (n % 20)),
    }));
    const server = await start({ ...listOf(...tools), options: { optional: true, connect_timeout: '3s' } });
    await expect(server.discover()).rejects.toMatchObject({
      code: 'toolset_invalid',
      message: expect.stringMatching(/its schemas could not be checked within 3000 ms: [1-4] of 200 were/) as string,
    });
  });

  it.each([
    ['a pattern', SLOW_PATTERN, SLOW_TEXT],
    ['references', doublingBelow(40), { a: {} }],
  ])('on some arguments fails that call, and no other waits for it: %s', async (_what, inputSchema, args) => {
    const server = await start(listOf({ name: 'act', inputSchema }));
    const other = await start(listOf({ name: 'act', inputSchema: SLOW_PATTERN }));
    await Promise.all([server.call(), other.call()]);
    const pauses = watchPauses();
    let isOver = false;
    const hostile = failureOf(server.call({}, args)).finally(() => (isOver = true));
    const run = (root_run_id: string) => ({ run: { run_id: 'run-2', agent_id: 'test.agent', root_run_id } });
    expect(await other.call({}, { text: 'aaa' })).toBe('done');
    // Also the same server, for another org.
    expect(await server.call({}, {}, run('run-2'))).toBe('done');
    expect(isOver).toBe(false);
    const failure = await hostile;
    expect(failure).toMatchObject({ kind: 'internal', retryable: false });
    expect(failure.message).toMatch(/mcp\.bad\.act could not be checked, and it was not called.*2 s/);
    expect(pauses()).toBeLessThan(1_000);
    // With a new thread.
    expect(await server.call()).toBe('done');
    expect(server.seen.filter((line) => line === 'POST tools/call')).toHaveLength(3);
  });

  it('does not hold up a call whose run is canceled', async () => {
    const server = await start(listOf({ name: 'act', inputSchema: SLOW_PATTERN }));
    await server.call();
    const stop = new AbortController();
    const call = server.call({}, SLOW_TEXT, { signal: stop.signal });
    setTimeout(() => stop.abort(new Error('enough')), 100);
    await expect(call).rejects.toThrow('enough');
  });
});

describe('a worker', () => {
  it('goes on with other runs while the arguments of one are checked', async () => {
    const server = await start(listOf({ name: 'act', inputSchema: SLOW_PATTERN }));
    const good = await start({});
    const model = { provider: scripted(scriptFromInput), model: 'scripted-1' };
    const agentOf = (agent_id: string, of: BadServer, name: string) =>
      defineAgent({
        agent_id,
        instructions: 'Follow the script.',
        tools: [mcpServer({ ...of.server, name })],
      });
    const world = await createWorld({
      models: { script: model },
      agents: [agentOf('test.hostile', server, 'evil'), agentOf('test.harmless', good, 'good')],
    });
    ends.unshift(() => world.end());
    const once = (tool: string, args: object) => script([{ tool_calls: [{ tool, args }] }, { text: 'Done.' }]);
    const harmless = () => world.run('test.harmless', once('mcp.good.act', {}));
    await harmless();
    const hostile = world.run('test.hostile', once('mcp.evil.act', SLOW_TEXT));
    let isOver = false;
    void hostile.then(() => (isOver = true));
    const { seen } = server;
    await until(() => seen.includes('POST tools/list'), 'the listing of the hostile server');
    let ended = 0;
    for (; !isOver; ended++) await harmless();
    expect(ofType(await hostile, 'tool_result')[0]).toMatchObject({ failure: { kind: 'internal' } });
    expect(ended).toBeGreaterThan(1);
  });
});

describe('a list without end', () => {
  const page = (n: number, nextCursor?: string) => ({
    tools: [{ name: `t${n}`, inputSchema: {} }],
    ...(nextCursor === undefined ? {} : { nextCursor }),
  });

  it('has one deadline for all pages', async () => {
    let pages = 0;
    const slowly = async () => {
      await new Promise((resolve) => setTimeout(resolve, 400));
      return page(++pages, `${pages}`);
    };
    const server = await start({ list: slowly, options: { connect_timeout: 2_000 } });
    await expect(server.discover()).rejects.toMatchObject({ code: 'toolset_unavailable' });
    expect(pages).toBeLessThan(10);
  });

  it.each([
    ['pages', ({ params }: Asked) => ({ tools: [], nextCursor: `${Number(params?.cursor ?? 0) + 1}` }), /has no end/],
    ['tools on one page', () => ({ tools: Array.from({ length: 1_001 }, (_, n) => page(n).tools[0]) }), /has no end/],
    [
      'characters',
      ({ params }: Asked) => ({
        tools: [{ name: `t${params?.cursor ?? 0}`, inputSchema: { description: 'x'.repeat(100_000) } }],
        nextCursor: `${Number(params?.cursor ?? 0) + 1}`,
      }),
      /more than 4194304 characters/,
    ],
  ])('is refused for its %s', async (_what, list, why) => {
    const server = await start({ list });
    await expect(server.discover()).rejects.toMatchObject({
      code: 'toolset_invalid',
      message: expect.stringMatching(why) as string,
    });
  });
});

describe('structured content', () => {
  const outputSchema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
  const structured = (structuredContent: unknown, schema: object = outputSchema) => ({
    list: () => ({ tools: [{ name: 'act', inputSchema: {}, outputSchema: schema }] }),
    onCall: ({ id }: Asked, response: Parameters<typeof answer>[0]) =>
      answer(response, id, { content: [], structuredContent }),
  });

  it('that fits the schema for it is kept', async () => {
    const server = await start(structured({ n: 7, more: true }));
    expect(await server.call()).toEqual({ content: '{"n":7,"more":true}', value: { n: 7, more: true } });
  });

  it('that does not fit is a malformed result, also on a worker that has not listed the tools', async () => {
    const server = await start(structured({ n: 'seven' }));
    const pinned = { tool_id: 'mcp.bad.act', source_name: 'act', parameters: {}, idempotent: false, timeout_ms: 1_000 };
    const { run } = server.toolset.bind(pinned);
    const context = {
      run: { run_id: 'run-1', agent_id: 'test.agent', root_run_id: 'run-1' },
      signal: AbortSignal.timeout(30_000),
      progress() {},
    } as unknown as Parameters<typeof run>[1];
    expect(await failureOf(Promise.resolve(run({}, context)))).toEqual({
      kind: 'malformed_result',
      message: 'mcp.bad.act was called, and its structured content was refused: it/n must be number.',
      retryable: false,
    });
  });

  it('that cannot be checked in time is a malformed result', async () => {
    const server = await start(structured(SLOW_TEXT, SLOW_PATTERN));
    expect(await failureOf(server.call())).toMatchObject({
      kind: 'malformed_result',
      message: expect.stringContaining('cannot be evaluated') as string,
    });
  });

  it('that is nested beyond reading is a malformed result', async () => {
    const server = await start({
      onCall: ({ id }, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const nested = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
        response.end(`{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":${nested}}}`);
      },
    });
    expect(await failureOf(server.call())).toMatchObject({ kind: 'malformed_result' });
  });
});

describe('an answer that is none', () => {
  it.each([
    ['application/json', (message: string) => message],
    ['text/event-stream', (message: string) => `data: ${message}\n\n`],
  ])('fails the call at once, as %s', async (type, body) => {
    const server = await start({
      onCall: ({ id }, response) => {
        response.writeHead(200, { 'content-type': type });
        const message = body(JSON.stringify({ jsonrpc: '2.0', id, result: null }));
        // The stream stays open: nothing but the answer itself says that it is over.
        if (type === 'application/json') response.end(message);
        else response.write(message);
      },
    });
    expect(await failureOf(server.call())).toMatchObject({ kind: 'malformed_result', retryable: false });
  });
});

/** On no arguments at all it takes 2^levels steps; and nothing of it is taken into the root. */
function doublingAlways(levels: number): object {
  const { $defs } = doubling(levels);
  return { type: 'object', if: { minProperties: 1 }, else: { $ref: '#/$defs/d0' }, $defs };
}
