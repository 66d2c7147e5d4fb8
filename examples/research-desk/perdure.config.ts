/**
 * The third example: agents that search, read, take notes, compute, delegate and cite. `desk.supervisor` plans in the
 * scratchpad and sends two researchers off in parallel; they search and read a small site (site/), compute in the code
 * interpreter and note what they found; the supervisor draws a chart and writes the report.
 *
 *   npx perdure run desk.supervisor "How did the two ferry lines recover since 2020?" \
 *     --config examples/research-desk/perdure.config.ts
 *
 * No key is needed: the models are scripted (scripts.ts), the tools are real. With ANTHROPIC_API_KEY, OPENAI_API_KEY or
 * GEMINI_API_KEY that vendor's model does the work. docs/tools.md explains the tools.
 */
import { join } from 'node:path';
import { agentAsTool, defineAgent, defineConfig } from 'perdure/kit';
import { codeInterpreter, localDocuments, scratchpadTools, webTools } from 'perdure/tools';
import { z } from 'zod';
import { models } from './models.js';

const web = webTools({
  search: localDocuments({ folder: join(import.meta.dirname, 'site'), base_url: 'https://almanac.example/' }),
});
const python = codeInterpreter();

const researcher = defineAgent({
  agent_id: 'desk.researcher',
  description: 'Answers one question from the web, with a source for every figure.',
  instructions:
    'Search, then read the page that fits best. What you look for may be further down: search the page, then scroll ' +
    'to the part that has it. Compute with Python, never in your head. Note each finding in the scratchpad ' +
    '(✅ topic | what | figure | source: URL), then answer with the figures by year and the URL of the source.',
  model: 'researcher',
  tools: [...web, ...scratchpadTools(), python],
  limits: { run: { max_steps: 15, time_budget: '5m' } },
});

const supervisor = defineAgent({
  agent_id: 'desk.supervisor',
  description: 'Answers questions that take research, with citations and a chart.',
  instructions:
    'Write your plan into the scratchpad (📌). Give each part of the question to a researcher, all at once. Then read ' +
    'the scratchpad, draw one chart with Python as passengers.svg (standard library only), and write a short report ' +
    'in Markdown in which every figure has a citation like [1], with the URLs at the end.',
  model: 'supervisor',
  tools: [
    ...scratchpadTools(),
    python,
    agentAsTool(researcher, {
      tool_id: 'desk.team.delegate_research_task',
      description: 'Gives a researcher one question to answer from the web.',
      input: z.object({ topic: z.string(), question: z.string() }),
      prompt: 'topic: {{topic}}\n\n{{question}}',
    }),
  ],
  limits: {
    run: { max_steps: 12 },
    tree: { max_tool_calls: 80, max_tokens: 400_000, max_depth: 2, time_budget: '15m' },
  },
});

export default defineConfig({ agents: [supervisor, researcher], models: models() });
