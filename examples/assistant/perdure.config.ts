/**
 * The first example: an agent with three tools. Run it with `npx perdure run demo.assistant "hello"`, or talk with it:
 * `npx perdure chat`. It needs no key: its model is scripted (script.ts), so it can say little. With an OPENAI_API_KEY,
 * `--model-profile openai` lets a real model use the same tools.
 */
import { defineAgent, defineConfig } from 'perdure/kit';
import { openai, scripted } from 'perdure/providers';
import { script } from './script.js';
import { countWords, percentOf, readClock } from './tools.js';

export default defineConfig({
  agents: [
    defineAgent({
      agent_id: 'demo.assistant',
      description: 'Knows the time, takes percentages and counts words.',
      instructions: 'Be brief. Use your tools, several at once where you can.',
      tools: [readClock, percentOf, countWords],
    }),
  ],
  models: {
    scripted: { provider: scripted(script), model: 'scripted-demo', default: true },
    openai: { provider: openai(), model: 'gpt-5-mini' },
  },
});
