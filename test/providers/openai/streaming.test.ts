/** The adapter over a real socket: wire streams in, normalised parts and completions out. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ModelProvider } from '../../../contract/model-provider.js';
import { openai } from '../../../providers/index.js';
import { assemble, modelRequest, partsFrom, tool } from '../model-request.js';
import { startWireServer, streamsOf, type WireServer } from '../wire-server.js';

const streamReply = streamsOf('openai');
let server: WireServer;
let provider: ModelProvider;
beforeAll(async () => {
  server = await startWireServer('/v1');
  provider = openai({ apiKey: 'sk-test', baseURL: server.baseURL });
});
afterAll(() => server.close());

const WEATHER = 'demo.weather.get_weather';
const CLOCK = 'demo.clock.current_time';

async function play(stream: string, end?: 'close' | 'destroy') {
  server.reply(streamReply(stream, end));
  const parts = await partsFrom(provider, modelRequest({ tools: [tool(WEATHER), tool(CLOCK)] }));
  return { parts, completion: assemble(parts) };
}

function callsOf(completion: ReturnType<typeof assemble>) {
  return completion.messages.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []));
}

describe('the openai adapter reads', () => {
  it('text, as the deltas that were sent, with usage that tells the cached tokens', async () => {
    const { parts, completion } = await play('text');
    expect(parts).toEqual([
      ...['Hello', ',', ' Zoë', ' 👋', '!'].map((delta) => ({ type: 'text', delta })),
      {
        type: 'finish',
        stop_reason: 'end_turn',
        usage: {
          model: 'gpt-4o-2024-08-06',
          input_tokens: 1117,
          input_cached_tokens: 1024,
          output_tokens: 6,
          total_tokens: 1123,
        },
        provider_meta: {
          openai: {
            id: 'chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT',
            finish_reason: 'stop',
            system_fingerprint: 'fp_44709d6fcb',
            reasoning_tokens: 0,
          },
        },
      },
    ]);
    expect(completion.messages).toEqual([{ role: 'assistant', content: 'Hello, Zoë 👋!', meta: { block: 1 } }]);
  });

  it('parallel tool calls with split arguments, under their canonical ids', async () => {
    const { completion } = await play('parallel-tool-calls');
    expect(completion.stop_reason).toBe('tool_use');
    expect(completion.messages).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          {
            id: '',
            type: 'function',
            function: { name: WEATHER, arguments: '{"city": "Paris"}' },
            provider_meta: { openai: { id: 'call_DdmO9pD3xa9XTPNJ32zg2hcA' } },
          },
          {
            id: '',
            type: 'function',
            function: { name: CLOCK, arguments: '{"zone": "Europe/Paris"}' },
            provider_meta: { openai: { id: 'call_ABCwNFyVwRIVPqFSsUcmWuSd' } },
          },
        ],
      },
    ]);
  });

  it('a tool call after text in the message of that text', async () => {
    const { completion } = await play('text-then-tool-call');
    expect(completion.messages).toHaveLength(1);
    expect(completion.messages[0]).toMatchObject({ content: 'Let me look.', tool_calls: [{}] });
  });

  it('tool calls without an index and with an empty id as separate calls', async () => {
    const { completion } = await play('tool-calls-without-index');
    expect(completion.stop_reason).toBe('tool_use');
    expect(callsOf(completion).map((call) => call.function.arguments)).toEqual(['{"city":"Paris"}', '{"city":"Oslo"}']);
  });

  it('malformed arguments exactly as the model wrote them', async () => {
    const { completion } = await play('malformed-arguments');
    expect(callsOf(completion)[0]?.function).toEqual({ name: WEATHER, arguments: '{"city": "Paris", }' });
  });

  it('an invented tool name as it is', async () => {
    const { completion } = await play('invented-tool');
    expect(callsOf(completion)[0]?.function.name).toBe('search_the_web');
  });

  it('a refusal into its own field, with its own stop reason', async () => {
    const { completion } = await play('refusal');
    expect(completion.stop_reason).toBe('refusal');
    expect(completion.messages).toEqual([
      { role: 'assistant', content: null, refusal: "I'm sorry, I can't help with that.", meta: { block: 1 } },
    ]);
  });

  it.each([
    ['reasoning-content', 'Okay, 9.11 < 9.8', '9.8 is greater.'],
    ['reasoning-openrouter', 'Let me think.', 'Done.'],
  ])('the reasoning that compatible servers send (%s), before the text', async (stream, reasoning, text) => {
    const { completion } = await play(stream);
    expect(completion.messages).toEqual([
      { role: 'reasoning', content: reasoning, meta: { block: 1 } },
      { role: 'assistant', content: text, meta: { block: 2 } },
    ]);
    expect(completion.usage?.total_tokens).toBeGreaterThan(0);
  });

  it.each([
    ['length', 'max_tokens'],
    ['content-filter', 'content_filter'],
    ['forced-tool', 'tool_use'],
  ])('the end of %s as %s', async (stream, reason) => {
    const { completion } = await play(stream);
    expect(completion.stop_reason).toBe(reason);
  });

  it('an answer whose tokens all went into hidden reasoning as one that hit its limit, not as an empty stream', async () => {
    const { completion } = await play('length-all-reasoning');
    expect(completion).toMatchObject({ messages: [], stop_reason: 'max_tokens', usage: { output_tokens: 64 } });
  });

  it('a stream that breaks after its finish_reason as a whole answer', async () => {
    const whole = streamReply('length', 'destroy');
    server.reply({ ...whole, body: whole.body.slice(0, whole.body.indexOf('"choices":[],"usage"')) });
    const completion = assemble(await partsFrom(provider, modelRequest()));
    expect(completion).toMatchObject({ stop_reason: 'max_tokens', usage: null, messages: [{ content: 'Once upon' }] });
  });
});

describe('an abort', () => {
  it('in the middle of a stream ends it quietly and closes the connection', async () => {
    server.reply(streamReply('no-finish', 'hang'));
    const controller = new AbortController();
    const deltas: string[] = [];
    for await (const part of provider.stream(modelRequest(), controller.signal)) {
      if (part.type === 'text') deltas.push(part.delta);
      if (deltas.length === 2) controller.abort();
    }
    expect(deltas).toEqual(['Half an', ' ans']);
    await server.requests.at(-1)?.disconnected;
  });

  it('before the vendor has answered ends the stream quietly', async () => {
    server.reply({ body: '', end: 'hang' });
    const signal = AbortSignal.timeout(50);
    expect(await partsFrom(provider, modelRequest(), signal)).toEqual([]);
    await server.requests.at(-1)?.disconnected;
  });

  it('before the call sends nothing', async () => {
    const before = server.requests.length;
    expect(await partsFrom(provider, modelRequest(), AbortSignal.abort())).toEqual([]);
    expect(server.requests).toHaveLength(before);
  });

  it('is not needed when the reader goes away: the connection is closed', async () => {
    server.reply(streamReply('no-finish', 'hang'));
    for await (const part of provider.stream(modelRequest(), new AbortController().signal)) {
      expect(part.type).toBe('text');
      break;
    }
    await server.requests.at(-1)?.disconnected;
  });
});
