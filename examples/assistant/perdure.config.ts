/**
 * The first example: an agent with two tools. Run it with `perdure run demo.assistant "hello"`, or talk with it:
 * `perdure chat`. It needs no key: its model is scripted, so the text below is all that it can say. With an
 * OPENAI_API_KEY, `--model-profile openai` lets a real model use the same tools.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ModelRequest } from 'perdure/contract';
import { defineAgent, defineConfig, defineTool } from 'perdure/kit';
import { openai, scripted, type Script } from 'perdure/providers';
import { z } from 'zod';

const readClock = defineTool({
  tool_id: 'demo.clock.read_clock',
  description: 'The date and time in a time zone.',
  input: z.object({ time_zone: z.string().describe('An IANA name, like "Europe/Vienna"') }),
  idempotent: true,
  async run({ time_zone }, { progress, signal }) {
    progress('asking a slow clock', 0.5);
    await sleep(600, undefined, { signal });
    return new Date().toLocaleString('en-GB', { timeZone: time_zone, dateStyle: 'full', timeStyle: 'short' });
  },
});

const countWords = defineTool({
  tool_id: 'demo.text.count_words',
  description: 'How many words and characters a text has.',
  input: z.object({ text: z.string() }),
  output: z.object({ words: z.number(), characters: z.number() }),
  idempotent: true,
  run: ({ text }) => ({ words: text.split(/\s+/).filter(Boolean).length, characters: text.length }),
});

/** What the scripted model says: two tools at once, then an answer from what they returned. */
function script({ messages }: ModelRequest): Script {
  const question = textOf(messages.findLast((message) => message.role === 'user')?.content);
  const resultOf = (tool: string) =>
    textOf(messages.findLast((message) => message.role === 'tool' && message.tool_name === tool)?.content);
  const answer = `Hello! I am a scripted model: all that I say is in examples/assistant/perdure.config.ts. \
The run is real, though: Temporal keeps each step of it, and my two tools ran at the same time.

- The clock says: ${resultOf('demo.clock.read_clock')} (UTC)
- Your message measures: ${resultOf('demo.text.count_words')}

Kill the worker while I speak, start it again, and I will still finish.`;
  const lookUp = {
    thinking: 'I can look at the clock and count the words of the message, both at once. Then I will answer.',
    tool_calls: [
      { tool: 'demo.clock.read_clock', args: { time_zone: 'UTC' } },
      { tool: 'demo.text.count_words', args: { text: question } },
    ],
    delay_ms: 25,
  };
  const hasResults = messages.at(-1)?.role === 'tool';
  return {
    // However many calls the conversation has had, this is what the next one says.
    turns: Array.from({ length: messages.length + 1 }, () => (hasResults ? { text: answer, delay_ms: 30 } : lookUp)),
    synthesis: { text: answer, delay_ms: 30 },
  };
}

function textOf(content: ModelRequest['messages'][number]['content'] = ''): string {
  if (content === null || typeof content === 'string') return content ?? '';
  return content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join(' ');
}

export default defineConfig({
  agents: [
    defineAgent({
      agent_id: 'demo.assistant',
      description: 'Knows the time and counts words.',
      instructions: 'Be brief. Use your tools, several at once where you can.',
      tools: [readClock, countWords],
    }),
  ],
  models: {
    scripted: { provider: scripted(script), model: 'scripted-demo', default: true },
    openai: { provider: openai(), model: 'gpt-5-mini' },
  },
});
