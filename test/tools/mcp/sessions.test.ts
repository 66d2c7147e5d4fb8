/** Credentials that depend on for whom a run works: each gets a session of its own, with a bound. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Caller as CallerFacts } from '../../../contract/principal.js';
import type { RunContext } from '../../../kit/index.js';
import { isToolError } from '../../../kit/tool-error.js';
import { mcpServer } from '../../../tools/index.js';
import type { McpServer, McpServerOptions } from '../../../tools/index.js';
import { until } from '../../support/world.js';
import { anyRun, failureOf, openCaller } from './calling.js';
import { startServer } from './start-server.js';
import type { TestServer } from './start-server.js';

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

const of = (org_id: string, user_id = 'ann', metadata: RunContext['metadata'] = {}): RunContext => ({
  ...anyRun,
  principal: { org_id, user_id, roles: ['member'] },
  metadata,
});

async function open(
  way: 'http' | 'stdio',
  credentials: (caller: CallerFacts) => Record<string, string>,
  options: McpServerOptions = {},
) {
  const server = await startServer(way);
  ends.push(() => server.stop());
  const given = server.server;
  const fixed = 'stdio' in given ? (given.stdio.env as Record<string, string>) : {};
  const dynamic = (caller: CallerFacts) => ({ ...fixed, ...credentials(caller) });
  const own: McpServer =
    'stdio' in given
      ? { ...given, stdio: { ...given.stdio, env: dynamic } }
      : { ...given, http: { ...given.http, headers: dynamic } };
  const caller = await openCaller({ ...server, server: own } as TestServer, options);
  ends.push(() => caller.toolset.close());
  return { server, ...caller };
}

const sessionsOf = async (server: TestServer) => (await server.log()).filter((line) => line === 'session').length;

describe('headers that are a function', () => {
  it('are asked with whom the run works for, in discovery and in calls, and give each result a session', async () => {
    const asked: CallerFacts[] = [];
    const { server, toolset, call } = await open('http', (caller) => {
      asked.push(caller);
      return { 'x-org': caller.principal.org_id ?? '', 'x-locale': String(caller.metadata['locale']) };
    });
    expect(await sessionsOf(server)).toBe(1);
    await toolset.discover(AbortSignal.timeout(60_000), of('acme'));
    expect(await call('echo', { text: 'one' }, of('acme'))).toBe('one');
    // Somebody else, and the same credentials.
    expect(await call('echo', { text: 'two' }, of('acme', 'bob'))).toBe('two');
    expect(await sessionsOf(server)).toBe(2);
    expect(await call('echo', { text: 'three' }, of('globex'))).toBe('three');
    expect(await call('echo', { text: 'four' }, of('acme', 'ann', { locale: 'de' }))).toBe('four');
    expect(await sessionsOf(server)).toBe(4);
    expect(asked.at(-1)).toEqual({
      principal: { org_id: 'acme', user_id: 'ann', roles: ['member'] },
      metadata: { locale: 'de' },
    });
    await toolset.close();
    expect((await server.log()).filter((line) => line === 'session closed')).toHaveLength(4);
  });

  it('have only so many sessions at the same time: one that is not used gives way, and one that is does not', async () => {
    const { server, call } = await open('http', ({ principal }) => ({ 'x-org': principal.org_id ?? '' }), {
      max_sessions: 2,
    });
    const path = `${server.folder}/released`;
    const held = call('hold', { path }, of('acme'));
    await until(async () => (await server.log()).some((line) => line.startsWith('called hold')), 'the call');
    // There was one for nobody, from the discovery: it is closed for this one.
    expect(await call('echo', { text: 'x' }, of('globex'))).toBe('x');
    await until(async () => (await server.log()).includes('session closed'), 'the first session to be closed');
    const alsoHeld = call('hold', { path }, of('globex'));
    await until(
      async () => (await server.log()).filter((line) => line.startsWith('called hold')).length === 2,
      'both calls',
    );
    expect(await failureOf(call('echo', { text: 'x' }, of('initech')))).toMatchObject({
      kind: 'rate_limited',
      message: expect.stringContaining('has 2 sessions in use'),
    });
    await server.release(path);
    expect(await Promise.all([held, alsoHeld])).toEqual(['released', 'released']);
    expect(await call('echo', { text: 'x' }, of('initech'))).toBe('x');
  });

  it('are not repeated by what is said of a failure', async () => {
    const { call } = await open('http', ({ principal }) => ({
      authorization: `Bearer tk-W8zQ4nX7-${principal.org_id}`,
    }));
    const message = 'refused Bearer tk-W8zQ4nX7-acme';
    const failure = await failureOf(call('fail', { message }, of('acme')));
    expect(failure.message).toContain('refused Bearer [hidden]');
    expect(failure.message).not.toContain('W8zQ4n');
  });

  it('that throws, or gives what are no headers, fails the discovery and the call as an error of the application', async () => {
    for (const headers of [() => Promise.reject(new Error('no token for them')), () => ({ 'x-org': 7 })]) {
      const http = { url: 'http://127.0.0.1:1/mcp', headers: headers as unknown as () => Record<string, string> };
      const toolset = mcpServer({ name: 'far', http }).options.open(() => {});
      const error: unknown = await toolset.discover(AbortSignal.timeout(60_000), anyRun).catch((e: unknown) => e);
      expect(isToolError(error)).toBe(false);
      expect(String(error)).toMatch(/no token for them|must give an object of texts/);
      await toolset.close();
    }
  });
});

describe('an environment that is a function', () => {
  it('gives each result a process, which ends when nobody has used it for a while', async () => {
    const env = ({ principal }: CallerFacts) => ({ SHOP_ORG: principal.org_id ?? '' });
    const { server, call } = await open('stdio', env, { session_idle: 300 });
    const orgOf = async (org: string) =>
      (JSON.parse((await call('environment', {}, of(org))) as string) as Record<string, string>)['SHOP_ORG'];
    expect(await Promise.all([orgOf('acme'), orgOf('globex')])).toEqual(['acme', 'globex']);
    await until(async () => (await server.alive()).length === 0, 'the processes to end');
    expect(await orgOf('acme')).toBe('acme');
  });
});

describe('the _meta of a call', () => {
  it('says nothing of whom it is for, unless the application does', async () => {
    const metaOf = async (options: McpServerOptions) => {
      const { call } = await open('http', () => ({}), options);
      const meta = JSON.parse((await call('meta', {}, of('acme'))) as string) as Record<string, unknown>;
      return Object.entries(meta).filter(([name]) => name !== 'progressToken');
    };
    const key = ['perdure/idempotency_key', 'run-1/call_1_1'];
    expect(await metaOf({})).toEqual([key]);
    const meta = ({ principal }: CallerFacts) => ({
      'shop/org': principal.org_id,
      'perdure/idempotency_key': 'forged',
    });
    expect((await metaOf({ meta })).toSorted()).toEqual([key, ['shop/org', 'acme']]);
  });
});

describe('a number of sessions that is none', () => {
  it.each([0, 1.5, -1])('is refused when the server is defined: %d', (max_sessions) => {
    expect(() => mcpServer({ name: 'far', http: { url: 'http://127.0.0.1:1/mcp' } }, { max_sessions })).toThrow(
      /max_sessions .* is no number of sessions/,
    );
  });
});
