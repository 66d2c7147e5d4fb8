/**
 * A worker in a process of its own, for tests that kill it. Takes its options as JSON, prints READY when it polls,
 * stops on SIGTERM as a deploy would stop it, and goes when its parent is gone.
 */
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { defineAgent, defineConfig, defineTool } from '../../kit/index.js';
import type { ConfigOptions } from '../../kit/index.js';
import { createRegistry } from '../../kit/registry.js';
import { createRedisChannel } from '../../live/redis-channel.js';
import { scripted, scriptFromInput } from '../../providers/index.js';
import { codeInterpreter, mcpServer } from '../../tools/index.js';
import type { McpServer } from '../../tools/index.js';
import { startWorker } from '../../worker/create-worker.js';
import { installRuntimeLog } from '../../worker/runtime-log.js';
import { clockModel } from './clock-model.js';
import { recordsIn } from './records.js';
import { testConfig } from './test-agents.js';
import { toolsetConfig } from '../tools/toolset-agents.js';
import { treeConfig } from './tree-agents.js';
import { CRASH_WINDOW, createWindowModel, windowConfig } from './window-model.js';
import type { WorkerProcessOptions } from './worker-process.js';

const [argument] = process.argv.slice(2);
if (argument === undefined) throw new Error('usage: worker-main OPTIONS_AS_JSON');
const {
  server,
  runtime,
  trees = false,
  await_expires_in = '2s',
  code = false,
  toolsets,
  mcp,
  cache,
  redis,
  archive,
} = JSON.parse(argument) as WorkerProcessOptions;

/** For as long as its first attempt lives, it does nothing else: what stops it is the end of its worker. */
const waitForEnd = async ({ attempt, signal }: { attempt: number; signal: AbortSignal }) => {
  if (attempt === 1) await sleep(60_000, undefined, { signal });
  return `attempt ${attempt} was quick`;
};
const input = z.object({});
const patient = [
  defineTool({
    tool_id: 'test.patient.wait',
    description: 'Waits; safe to repeat.',
    input,
    idempotent: true,
    timeout: 60_000,
    run: (_, context) => waitForEnd(context),
  }),
  defineTool({
    tool_id: 'test.patient.wait_once',
    description: 'Waits; not safe to repeat.',
    input,
    timeout: 60_000,
    run: (_, context) => waitForEnd(context),
  }),
  defineTool({
    tool_id: 'test.patient.await_file',
    description: 'Waits for a file: how a test holds a run where it wants it.',
    input: z.object({ path: z.string() }),
    idempotent: true,
    timeout: 180_000,
    async run({ path }, { signal }) {
      while (!existsSync(path)) await sleep(50, undefined, { signal });
      return 'there it is';
    },
  }),
];

function withPatience(options: ConfigOptions): ConfigOptions {
  const instructions = 'Follow the script.';
  const { models, agents } = windowConfig(createWindowModel(CRASH_WINDOW), { context_tokens: CRASH_WINDOW });
  const frail = { provider: scripted(scriptFromInput), model: 'scripted-frail', fallback: ['script'] };
  return {
    ...options,
    models: { ...options.models, ...models, frail, clock: { provider: clockModel, model: 'clock' } },
    agents: [
      ...options.agents,
      defineAgent({ agent_id: 'test.patient', instructions, tools: patient }),
      defineAgent({ agent_id: 'test.chained', instructions, model: 'frail' }),
      defineAgent({ agent_id: 'test.asking', instructions, clarifications: true }),
      defineAgent({ agent_id: 'test.clock', instructions, model: 'clock' }),
      ...agents,
    ],
  };
}

function withServer(options: ConfigOptions, server: McpServer | undefined): ConfigOptions {
  if (server === undefined) return options;
  const agent = defineAgent({ agent_id: 'test.mcp', instructions: 'Follow the script.', tools: [mcpServer(server)] });
  return { ...options, agents: [...options.agents, agent] };
}

function withCode(options: ConfigOptions): ConfigOptions {
  const agent = defineAgent({ agent_id: 'test.coder', instructions: 'Follow the script.', tools: [codeInterpreter()] });
  return { ...options, agents: [...options.agents, agent] };
}

function configOf(): ConfigOptions {
  if (code) return withCode(testConfig(runtime));
  if (toolsets !== undefined) return withPatience(toolsetConfig(toolsets, runtime));
  if (trees === false) return withPatience(testConfig(runtime));
  const limits = trees === true ? {} : { limits: { run: trees } };
  return treeConfig(runtime, { tools: patient, root: { await_expires_in, ...limits } });
}

const report = (line: string) => void process.stderr.write(`${line}\n`);
installRuntimeLog(report);
const records =
  archive === undefined ? undefined : await recordsIn(server.dataDir, archive === true ? undefined : archive);
const worker = await startWorker({
  ...server,
  ...(redis === undefined ? {} : { channel: createRedisChannel({ url: redis, report }) }),
  registry: createRegistry(defineConfig(withServer(configOf(), mcp))),
  report,
  ...(records === undefined ? {} : { archive: records.archive }),
  ...(cache === undefined ? {} : { maxCachedWorkflows: cache }),
});
process.once('SIGTERM', () => void worker.stop().then(() => process.exit(0)));
process.stdin.on('end', () => process.exit(1)).resume();
process.stdout.write('READY\n');
