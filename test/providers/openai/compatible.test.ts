/** Servers that speak Chat Completions, each in its own way: over a socket, through the official SDK. */
import { afterEach, describe, expect, it } from 'vitest';
import { openai } from '../../../providers/index.js';
import type { OpenAIOptions } from '../../../providers/index.js';
import { until } from '../../support/world.js';
import { assemble, failureOf, modelRequest, partsFrom } from '../model-request.js';
import { startDialectServer } from './dialect-server.js';

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function connect(dialect: Parameters<typeof startDialectServer>[0], options: OpenAIOptions = {}) {
  const server = await startDialectServer(dialect);
  ends.push(() => server.close());
  const provider = openai({ apiKey: 'sk-test', baseURL: server.baseURL, ...options });
  const ask = async (parameters = {}) => assemble(await partsFrom(provider, modelRequest({ parameters })));
  const sent = () =>
    server.requests.map((body) => Object.keys(body).find((name) => /^max_(?:completion_)?tokens$/.test(name)));
  return { ...server, provider, ask, sent };
}

const SHORT = { max_output_tokens: 5 };
const said = ({ messages: [message] }: Awaited<ReturnType<Awaited<ReturnType<typeof connect>>['ask']>>) =>
  String(message?.content ?? '').length / 'four'.length;

describe('the limit of an answer', () => {
  it.each(['error', 'detail', 'text'] as const)(
    'goes by the other name to a server that refuses the first (%s), and is asked for by it from then on',
    async (refusal) => {
      const { ask, sent } = await connect({ limit: 'max_tokens', refusal });
      const first = await ask(SHORT);
      expect(said(first)).toBe(5);
      expect(first.stop_reason).toBe('max_tokens');
      await ask(SHORT);
      expect(sent()).toEqual(['max_completion_tokens', 'max_tokens', 'max_tokens']);
    },
  );

  it('goes by the name that the provider is given, and by no other', async () => {
    const older = await connect({ limit: 'max_tokens', refusal: 'error' }, { maxTokensParameter: 'max_tokens' });
    expect(said(await older.ask(SHORT))).toBe(5);
    expect(older.sent()).toEqual(['max_tokens']);
    const newer = await connect(
      { limit: 'max_tokens', refusal: 'error' },
      { maxTokensParameter: 'max_completion_tokens' },
    );
    expect((await failureOf(newer.provider, modelRequest({ parameters: SHORT }))).error.code).toBe('model_bad_request');
    expect(newer.sent()).toEqual(['max_completion_tokens']);
  });

  it('has one name only at OpenAI', async () => {
    const asked: unknown[] = [];
    const fetch = async (address: unknown, init?: RequestInit) => {
      asked.push([String(address), JSON.parse(String(init?.body)) as unknown]);
      const error = { message: 'Unsupported parameter: max_completion_tokens', param: 'max_completion_tokens' };
      return Response.json({ error }, { status: 400 });
    };
    for (const baseURL of ['https://api.openai.com/v1', 'https://eu.api.openai.com/v1']) {
      const provider = openai({ apiKey: 'sk-test', baseURL, fetch: fetch as typeof globalThis.fetch });
      expect((await failureOf(provider, modelRequest({ parameters: SHORT }))).error.code).toBe('model_bad_request');
    }
    expect(asked).toHaveLength(2);
    expect(JSON.stringify(asked)).not.toContain('"max_tokens"');
  });

  it('that no name brings about is an error that says why', async () => {
    const { provider, sent } = await connect({ limit: 'none', refusal: 'detail' });
    const { error } = await failureOf(provider, modelRequest({ parameters: SHORT }));
    expect(error).toMatchObject({ code: 'model_bad_request', http_status: 422 });
    expect(error.message).toContain('Extra inputs are not permitted');
    await failureOf(provider, modelRequest({ parameters: SHORT }));
    expect(sent()).toEqual(['max_completion_tokens', 'max_tokens', 'max_completion_tokens', 'max_tokens']);
  });

  it('that a server ignores is kept by us, far beyond it, and asked for by the other name the next time', async () => {
    const { ask, sent, written } = await connect({ limit: 'max_tokens', words: 100_000 });
    const cut = await ask({ max_output_tokens: 120 });
    expect(cut.stop_reason).toBe('max_tokens');
    expect(cut.provider_meta).toEqual({ openai: { id: 'c1', cut_at_tokens: 120 } });
    expect(said(cut)).toBeGreaterThan(120);
    expect(said(cut)).toBeLessThan(500);
    expect(cut.usage).toMatchObject({ output_tokens: said(cut), estimated: true });
    await until(() => written() > 0, 'the end of its writing');
    expect(written()).toBeLessThan(100_000);
    expect(said(await ask({ max_output_tokens: 120 }))).toBe(120);
    expect(sent()).toEqual(['max_completion_tokens', 'max_tokens']);
  });

  it('is none on the reasoning, which some servers do not count', async () => {
    const { ask } = await connect({ limit: 'none', words: 2_010, reasons: 2_000 });
    const { messages, stop_reason, usage } = await ask({ max_output_tokens: 120 });
    expect(messages.map(({ role }) => role)).toEqual(['reasoning', 'assistant']);
    expect(stop_reason).toBe('end_turn');
    expect(usage).toMatchObject({ output_tokens: 2_010 });
  });

  it('is nobody’s business where nobody asked for one', async () => {
    const { ask } = await connect({ limit: 'none', words: 2_000, usage: 'whole' });
    expect(said(await ask())).toBe(2_000);
  });
});

describe('usage', () => {
  it.each(['none', 'zeros'] as const)('that the server does not tell (%s) is estimated, and says so', async (usage) => {
    const { ask } = await connect({ limit: 'none', words: 40, usage });
    expect((await ask()).usage).toEqual({
      model: 'gpt-4o',
      input_tokens: Math.ceil('Be brief.'.length / 4) + Math.ceil('Hello'.length / 4),
      output_tokens: 40,
      total_tokens: 45,
      estimated: true,
    });
  });

  it('of which the server tells half is estimated for the rest', async () => {
    const { ask } = await connect({ limit: 'none', words: 40, usage: 'input only' });
    expect((await ask()).usage).toMatchObject({
      input_tokens: 21,
      output_tokens: 40,
      total_tokens: 61,
      estimated: true,
    });
  });

  it('that the server tells is what it tells', async () => {
    const { ask } = await connect({ limit: 'none', words: 40, usage: 'whole' });
    expect((await ask()).usage).toMatchObject({ input_tokens: 21, output_tokens: 40, total_tokens: 61 });
    expect((await ask()).usage).not.toHaveProperty('estimated');
  });

  it('is estimated for images by their number, and for calls and other scripts by their bytes', async () => {
    const { provider } = await connect({ limit: 'none', words: 1 });
    const image_url = { url: `data:image/png;base64,${'A'.repeat(100_000)}` };
    const messages = [
      {
        role: 'user' as const,
        content: [
          { type: 'text' as const, text: '漢字漢字' },
          { type: 'image_url' as const, image_url },
        ],
      },
    ];
    const { usage } = assemble(await partsFrom(provider, modelRequest({ messages })));
    expect(usage).toMatchObject({ input_tokens: 3 + 1_000, output_tokens: 1, estimated: true });
  });
});
