/** What the scripted models of the two agents say. They read what the tools gave back; a real model needs none of this. */
import type { ModelRequest } from 'perdure/contract';
import type { Script } from 'perdure/providers';
import { chartCode, growthCode } from './python.js';

type Row = [year: number, passengers: number];

const TASK = 'desk.team.delegate_research_task';
const LINES = ['Northern Line', 'Southern Line'];

/** Plans in the scratchpad, sends two researchers off at once, draws what they found, and reports with citations. */
export function supervisor(request: ModelRequest): Script {
  const found = resultsOf(request, TASK);
  const lines = LINES.map((name) => {
    const text = found.find((result) => result.includes(name)) ?? '';
    return { name, rows: rowsIn(text), source: urlIn(text), text };
  });
  const growth = new Map(
    lines.map(({ name, rows }) => [name, ((rows.at(-1)?.[1] ?? 0) / (rows[1]?.[1] ?? 1) - 1) * 100]),
  );
  const faster = LINES.toSorted((a, b) => (growth.get(b) ?? 0) - (growth.get(a) ?? 0))[0];
  const report = [
    `## The two ferry lines since 2020`,
    '',
    ...lines.map(({ name, text }, n) => `- **${name}**: ${sentenceOf(text)} [${n + 1}]`),
    '',
    `The ${faster} grows faster. The chart is in \`passengers.svg\`.`,
    '',
    ...lines.map(({ source }, n) => `[${n + 1}] ${source}`),
  ].join('\n');
  return {
    turns: [
      {
        thinking: 'Two lines, the same question for both: that is work for two researchers at once.',
        tool_calls: [
          append('📌 Plan: 1. passengers of both lines by year, 2. growth since 2020, 3. a chart, 4. the report'),
        ],
      },
      {
        text: 'I will have both lines looked up at the same time.\n\n',
        tool_calls: LINES.map((name) => ({
          tool: TASK,
          args: { topic: name, question: `How many passengers did the ${name} have each year, and how did it grow?` },
        })),
      },
      { tool_calls: [{ tool: 'memory.scratchpad.read_scratchpad' }] },
      {
        tool_calls: [{ tool: 'code.python.code_interpreter', args: { code: chartCode(lines) } }],
        delay_ms: 5,
      },
      { tool_calls: [append('✅ Chart drawn: passengers.svg')] },
      { text: report, delay_ms: 10 },
    ],
    synthesis: { text: report },
  };
}

/** Searches, reads, finds the table further down the page, computes, and notes what it found with its source. */
export function researcher(request: ModelRequest): Script {
  const topic = /topic: (.+)/.exec(questionOf(request))?.[1] ?? '';
  const url = urlIn(resultOf(request, 'web.search.perform_web_search'));
  const page = Number(
    /Page (\d+): ## Passengers by year/.exec(resultOf(request, 'web.pages.search_web_page'))?.[1] ?? 1,
  );
  const rows = rowsIn(resultOf(request, 'web.pages.scroll_web_page'));
  const growth = /growth since 2020: (\S+)/.exec(resultOf(request, 'code.python.code_interpreter'))?.[1] ?? 'unknown';
  const figures = rows.map(([year, passengers]) => `${year} ${passengers}`).join(', ');
  const answer = `${topic}: passengers grew by ${growth} from 2020 to ${rows.at(-1)?.[0]}. By year: ${figures}. Source: ${url}`;
  return {
    turns: [
      { tool_calls: [{ tool: 'web.search.perform_web_search', args: { query: `${topic} ferry passengers by year` } }] },
      { tool_calls: [{ tool: 'web.pages.read_web_page', args: { url } }] },
      { tool_calls: [{ tool: 'web.pages.search_web_page', args: { url, query: 'Passengers by year' } }] },
      { tool_calls: [{ tool: 'web.pages.scroll_web_page', args: { url, page } }] },
      { tool_calls: [{ tool: 'code.python.code_interpreter', args: { code: growthCode(rows) } }], delay_ms: 5 },
      { tool_calls: [append(`✅ ${topic} | growth since 2020 | ${growth} | source: ${url}`)] },
      { text: answer },
    ],
    synthesis: { text: answer },
  };
}

function append(entry: string) {
  return { tool: 'memory.scratchpad.append_scratchpad', args: { entry } };
}

/** Years and passengers, however the page or the answer writes them. */
function rowsIn(text: string): Row[] {
  const pairs = [...text.matchAll(/\b(20[12]\d)\b[\s|:]+(\d[\d,]{5,})/g)];
  return pairs.map(([, year, passengers]) => [Number(year), Number(passengers?.replaceAll(',', ''))]);
}

function urlIn(text: string): string {
  return /https?:\/\/[^\s)\]>"]+/.exec(text)?.[0] ?? 'https://almanac.example/index.html';
}

function sentenceOf(text: string): string {
  return /passengers grew[^.]*(?:\.\d[^.]*)?\./.exec(text)?.[0] ?? 'nothing was found.';
}

function questionOf({ messages }: ModelRequest): string {
  return textOf(messages.find((message) => message.role === 'user')?.content);
}

function resultsOf({ messages }: ModelRequest, tool: string): string[] {
  return messages
    .filter((message) => message.role === 'tool' && message.tool_name === tool)
    .map((message) => textOf(message.content));
}

/** The last result of a tool; empty while there is none. */
function resultOf(request: ModelRequest, tool: string): string {
  return resultsOf(request, tool).at(-1) ?? '';
}

function textOf(content: ModelRequest['messages'][number]['content'] = ''): string {
  if (content === null || typeof content === 'string') return content ?? '';
  return content.map((part) => (part.type === 'text' ? part.text : '')).join(' ');
}
