/**
 * What the scripted model says. It looks for two things in a message, a city and a percentage, and for nothing else:
 * it asks its tools about them, all at once, and answers with what they return.
 */
import type { ModelRequest } from 'perdure/contract';
import type { Script } from 'perdure/providers';

type Message = ModelRequest['messages'][number];
type Call = { tool: string; args: Record<string, unknown> };

const WHO = 'I am a scripted model: all that I can say is in examples/assistant/script.ts. The run is real, though';

export function script({ messages }: ModelRequest): Script {
  const asked = messages.findLastIndex((message) => message.role === 'user');
  const question = textOf(messages[asked]?.content);
  const results = resultsIn(messages.slice(asked + 1));
  const cities = citiesIn(question);
  const percentages = percentagesIn(question);
  const isKnown = cities.length + percentages.length > 0;
  const calls = isKnown ? [...cities, ...percentages].map(({ call }) => call) : callsAbout(question);
  const answer = isKnown
    ? answerOf([...cities, ...percentages].map(({ say }, n) => say(results[n] ?? '')))
    : greeting(results);
  const thinking = calls.length > 1 ? 'I can look these things up at the same time.' : 'I have to look that up.';
  const lookUp = { thinking, tool_calls: calls };
  const reply = results.length > 0 ? { text: answer, delay_ms: 30 } : { ...lookUp, delay_ms: 25 };
  return {
    // However many calls the conversation has had, this is what the next one says.
    turns: Array.from({ length: messages.length + 1 }, () => reply),
    synthesis: { text: answer, delay_ms: 30 },
  };
}

/** In the order of the calls: the results come as the tools are done. */
function resultsIn(messages: readonly Message[]): string[] {
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []));
  return calls.flatMap(({ id }) =>
    messages.flatMap((message) =>
      message.role === 'tool' && message.tool_call_id === id ? [textOf(message.content)] : [],
    ),
  );
}

interface Finding {
  call: Call;
  /** A sentence of the answer, from what the tool returned. */
  say(result: string): string;
}

/** As the names of time zones have them: "Lima" of America/Lima. */
function citiesIn(question: string): Finding[] {
  return Intl.supportedValuesOf('timeZone').flatMap((time_zone) => {
    const city = (time_zone.split('/').at(-1) ?? '').replaceAll('_', ' ');
    if (!new RegExp(`\\b${city}\\b`).test(question)) return [];
    const call = { tool: 'demo.clock.read_clock', args: { time_zone } };
    return [{ call, say: (result: string) => `In ${city} it is ${result}.` }];
  });
}

function percentagesIn(question: string): Finding[] {
  const number = String.raw`(\d[\d,]*(?:\.\d+)?)`;
  return [...question.matchAll(new RegExp(`${number} ?(?:%|percent|per cent) of ${number}`, 'g'))].map(
    ([, percent = '', of = '']) => ({
      call: { tool: 'demo.math.percent_of', args: { percent: valueOf(percent), of: valueOf(of) } },
      say: (result) => `${percent} % of ${of} is ${result}.`,
    }),
  );
}

function valueOf(number: string): number {
  return Number(number.replaceAll(',', ''));
}

function answerOf(sentences: readonly string[]): string {
  return `${sentences.join(' ')}\n\n(${WHO}: Temporal keeps each step of it.)`;
}

function callsAbout(question: string): Call[] {
  return [
    { tool: 'demo.clock.read_clock', args: { time_zone: 'UTC' } },
    { tool: 'demo.text.count_words', args: { text: question } },
  ];
}

function greeting([clock = '', size = '']: readonly string[]): string {
  return `Hello! ${WHO}: Temporal keeps each step of it, and my two tools ran at the same time.

- The clock says: ${clock} (UTC)
- Your message measures: ${size}

Ask me for the time in a city, or for a percentage: "What time is it in Lima, and what is 17 % of 2,450?" Kill the \
worker while I speak, start it again, and I will still finish.`;
}

function textOf(content: Message['content'] = ''): string {
  if (content === null || typeof content === 'string') return content ?? '';
  return content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join(' ');
}
