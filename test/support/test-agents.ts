/** The agents and tools that the tests run: the script travels in the run's input, so any worker process can play it. */
import { appendFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { defineAgent, defineTool, ToolError } from '../../kit/index.js';
import type { ConfigOptions, RuntimeOptions } from '../../kit/index.js';
import { scripted, scriptFromInput } from '../../providers/index.js';
import type { Script } from '../../providers/index.js';

const echo = defineTool({
  tool_id: 'test.tools.echo',
  description: 'Says the text again.',
  input: z.object({ text: z.string() }),
  idempotent: true,
  run: ({ text }, { progress }) => {
    progress(`echoing ${text}`);
    return text;
  },
});

/** Does what it is told, also badly. */
const act = defineTool({
  tool_id: 'test.tools.act',
  description: 'Behaves as it is told to.',
  input: z.object({
    do: z.enum(['ok', 'throw', 'refuse', 'hang', 'ignore_abort', 'sleep', 'cyclic']),
    ms: z.number().optional(),
    /** Succeeds from this attempt on. */
    until_attempt: z.number().optional(),
  }),
  idempotent: true,
  timeout: 2_000,
  async run({ do: what, ms = 100, until_attempt }, { signal, attempt }) {
    if (until_attempt !== undefined && attempt >= until_attempt) return `worked at attempt ${attempt}`;
    if (what === 'throw') throw new Error('the tool broke');
    if (what === 'refuse') throw new ToolError('unavailable', 'not today');
    if (what === 'sleep') await sleep(ms, undefined, { signal });
    if (what === 'hang') await sleep(60_000, undefined, { signal });
    if (what === 'ignore_abort') await sleep(4_000);
    if (what === 'cyclic') {
      const value: Record<string, unknown> = {};
      value['self'] = value;
      return value;
    }
    return 'done';
  },
});

/** Like the other, impatient: for runs by the hundred. */
const quick = defineTool({
  tool_id: 'test.tools.quick',
  description: 'Behaves as it is told to, and has little time.',
  input: act.options.input,
  idempotent: true,
  max_attempts: 2,
  timeout: 150,
  run: act.options.run,
});

/** Not safe to repeat: writes a line per effect, then takes a while. */
const effect = defineTool({
  tool_id: 'test.effects.write_line',
  description: 'Appends a line to a file.',
  input: z.object({ path: z.string(), line: z.string(), ms: z.number().optional() }),
  timeout: 30_000,
  async run({ path, line, ms = 0 }, { signal }) {
    await appendFile(path, `${line}\n`);
    if (ms > 0) await sleep(ms, undefined, { signal });
    return 'written';
  },
});

/** The same, safe to repeat. */
const repeatable = defineTool({
  tool_id: 'test.effects.write_again',
  description: 'Appends a line to a file; safe to repeat.',
  input: z.object({ path: z.string(), line: z.string(), ms: z.number().optional() }),
  idempotent: true,
  timeout: 30_000,
  run: effect.options.run as Parameters<typeof defineTool>[0]['run'],
});

const big = defineTool({
  tool_id: 'test.outputs.big',
  description: 'Returns that many bytes, and notes that it ran.',
  input: z.object({ bytes: z.number(), ran: z.string() }),
  async run({ bytes, ran }) {
    await appendFile(ran, 'ran\n');
    const line = `${'0123456789abcdef'.repeat(8)}\n`;
    return line.repeat(Math.ceil(bytes / line.length)).slice(0, bytes);
  },
});

const tools = [echo, act, quick, effect, repeatable, big];

export function testConfig(runtime: RuntimeOptions = {}): ConfigOptions {
  return {
    models: { script: { provider: scripted(scriptFromInput), model: 'scripted-1' } },
    agents: [
      defineAgent({ agent_id: 'test.agent', instructions: 'Follow the script.', tools }),
      defineAgent({ agent_id: 'test.bare', instructions: 'Follow the script.' }),
      defineAgent({ agent_id: 'test.synthesizer', instructions: 'Follow the script.', tools, synthesis: true }),
    ],
    runtime: { heartbeat_timeout: '3s', cancel_grace: 500, ...runtime },
  };
}

/** The input that makes the scripted model play this. */
export function script(turns: Script['turns'], synthesis?: Script['synthesis']): string {
  return JSON.stringify({ turns, ...(synthesis === undefined ? {} : { synthesis }) });
}

export function call(tool: string, args: unknown) {
  return { tool: `test.${tool}`, args };
}
