/**
 * A conversation that one vendor's model began goes on with another's: all ordered pairs. What the first said comes
 * from its own wire streams; what the second is sent is read off the socket.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BaseMessage } from '../../contract/messages.js';
import { assemble, modelRequest, partsFrom, tool } from './model-request.js';
import { VENDORS, type Vendor } from './vendors.js';
import { startWireServer, type WireServer } from './wire-server.js';

const WEATHER = 'demo.weather.get_weather';
const CLOCK = 'demo.clock.current_time';
const TOOLS = [tool(WEATHER), tool(CLOCK)];
const servers = new Map<string, WireServer>();

beforeAll(async () => {
  for (const { name, path } of VENDORS) servers.set(name, await startWireServer(path));
});
afterAll(async () => {
  for (const server of servers.values()) await server.close();
});

async function ask(vendor: Vendor, stream: string, messages: BaseMessage[]) {
  const server = servers.get(vendor.name);
  if (server === undefined) throw new Error(`no server for ${vendor.name}`);
  server.reply(vendor.stream(stream));
  const request = modelRequest({ model: vendor.model, messages, tools: TOOLS });
  const completion = assemble(await partsFrom(vendor.connect(server.baseURL), request));
  return { completion, body: server.requests.at(-1)?.body ?? {} };
}

/** As the runtime does it: ids are its own, and each call gets a result; here they end in the wrong order. */
function commit(said: BaseMessage[]): BaseMessage[] {
  const committed = said.map((message) =>
    message.role === 'assistant' && message.tool_calls !== undefined
      ? { ...message, tool_calls: message.tool_calls.map((call, n) => ({ ...call, id: `call_1_${n + 1}` })) }
      : message,
  );
  const calls = committed.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []));
  const results = calls.map((call): BaseMessage => ({
    role: 'tool',
    tool_call_id: call.id,
    tool_name: call.function.name,
    content: `result of ${call.id}`,
  }));
  return [...committed, ...results.toReversed()];
}

/** Reasoning and an answer, then a second question with reasoning and two calls. */
async function history(from: Vendor): Promise<BaseMessage[]> {
  const first = await ask(from, from.name === 'openai' ? 'reasoning-content' : 'reasoning', [
    { role: 'user', content: 'Which is greater?' },
  ]);
  const second = await ask(from, 'parallel-tool-calls', [{ role: 'user', content: 'Weather and time?' }]);
  return [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Which is greater?' },
    ...first.completion.messages,
    { role: 'user', content: 'Weather and time in Paris?' },
    ...commit(second.completion.messages),
  ];
}

const pairs = VENDORS.flatMap((from) => VENDORS.filter((to) => to !== from).map((to) => ({ from, to })));

describe.each(pairs)('a conversation of $from.name goes on with $to.name', ({ from, to }) => {
  it('with its words, its calls and their results, without what only the first could read', async () => {
    const { completion, body } = await ask(to, 'text', await history(from));
    expect(completion.messages).toMatchObject([{ content: 'Hello, Zoë 👋!' }]);
    expect(body).toMatchObject(EXPECTED[to.name]);
    const wire = JSON.stringify(body);
    expect(wire).not.toMatch(/EqQB|EvEF|CpcH|toolu_|fc_1|call_DdmO|9\.11/);
  });
});

describe.each(VENDORS)('a conversation of $name goes on with it', (vendor) => {
  it('with what it had signed', async () => {
    const { body } = await ask(vendor, 'text', await history(vendor));
    expect(body).toMatchObject(OWN[vendor.name]);
  });
});

const weather = { city: 'Paris' };
const zone = { zone: 'Europe/Paris' };

const EXPECTED: Record<Vendor['name'], object> = {
  openai: {
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Which is greater?' },
      { role: 'assistant', content: '9.8 is greater.' },
      { role: 'user', content: 'Weather and time in Paris?' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'call_1_1', type: 'function', function: { name: 'demo-weather-get_weather' } },
          { id: 'call_1_2', type: 'function', function: { name: 'demo-clock-current_time' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1_2', content: 'result of call_1_2' },
      { role: 'tool', tool_call_id: 'call_1_1', content: 'result of call_1_1' },
    ],
  },
  anthropic: {
    system: [{ type: 'text', text: 'Be brief.' }],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'Which is greater?' }] },
      { role: 'assistant', content: [{ type: 'text', text: '9.8 is greater.' }] },
      { role: 'user', content: [{ type: 'text', text: 'Weather and time in Paris?' }] },
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'call_1_1', name: 'demo-weather-get_weather', input: weather },
          { type: 'tool_use', id: 'call_1_2', name: 'demo-clock-current_time', input: zone },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'call_1_1', content: 'result of call_1_1' },
          { type: 'tool_result', tool_use_id: 'call_1_2', content: 'result of call_1_2' },
        ],
      },
    ],
  },
  gemini: {
    systemInstruction: { parts: [{ text: 'Be brief.' }] },
    contents: [
      { role: 'user', parts: [{ text: 'Which is greater?' }] },
      { role: 'model', parts: [{ text: '9.8 is greater.' }] },
      { role: 'user', parts: [{ text: 'Weather and time in Paris?' }] },
      {
        role: 'model',
        parts: [
          {
            functionCall: { id: 'call_1_1', name: 'demo-weather-get_weather', args: weather },
            thoughtSignature: 'skip_thought_signature_validator',
          },
          { functionCall: { id: 'call_1_2', name: 'demo-clock-current_time', args: zone } },
        ],
      },
      {
        role: 'user',
        parts: [
          {
            functionResponse: {
              id: 'call_1_1',
              name: 'demo-weather-get_weather',
              response: { output: 'result of call_1_1' },
            },
          },
          {
            functionResponse: {
              id: 'call_1_2',
              name: 'demo-clock-current_time',
              response: { output: 'result of call_1_2' },
            },
          },
        ],
      },
    ],
  },
};

const OWN: Record<Vendor['name'], object> = {
  openai: EXPECTED.openai,
  anthropic: {
    messages: [
      {},
      {
        content: [
          { type: 'thinking', thinking: 'Okay, 9.11 < 9.8', signature: 'EqQBCgIYAhIM1gbcDa9GJwZA2b3h' },
          { type: 'text', text: '9.8 is greater.' },
        ],
      },
      {},
      {},
      {},
    ],
  },
  gemini: {
    contents: [
      {},
      { parts: [{ text: '9.8 is greater.', thoughtSignature: 'EvEFtextsignature' }] },
      {},
      {
        parts: [
          { functionCall: { id: 'fc_1' }, thoughtSignature: 'CpcHAdHtim9TzKxdWa' },
          { functionCall: { id: 'fc_2' } },
        ],
      },
      { parts: [{ functionResponse: { id: 'fc_1' } }, { functionResponse: { id: 'fc_2' } }] },
    ],
  },
};
