/**
 * The tool by which a model runs Python.
 *
 * Every call has a fresh sandbox, and nothing that it does has an effect outside but the result and its files: so a
 * call whose worker was lost may be made again. Not more than once: code that takes a worker down with it would
 * take them all.
 */
import { z } from 'zod';
import { defineTool } from '../../kit/define-tool.js';
import type { Tool } from '../../kit/define-tool.js';
import { tenantOf } from '../tenant-of.js';
import { codeLimits } from './code-limits.js';
import type { CodeLimitOptions } from './code-limits.js';
import { findSandbox } from './find-sandbox.js';
import type { BoundaryChoice } from './find-sandbox.js';
import { createProgramQueue, QUEUE_MS } from './program-queue.js';
import type { ProgramQueueOptions } from './program-queue.js';
import { runSandboxed, SLACK_MS } from './run-sandboxed.js';
import type { Sandbox } from './run-sandboxed.js';
import { tellOutcome } from './tell-outcome.js';

export interface CodeInterpreterOptions extends ProgramQueueOptions {
  limits?: CodeLimitOptions;
  /** The interpreter; `python3` by default. Its packages are those that the model can import. */
  python?: string;
  /** bubblewrap where it works, else unshare; where neither does, the worker does not start. */
  boundary?: BoundaryChoice;
}

export function codeInterpreter(options: CodeInterpreterOptions = {}): Tool {
  const limits = codeLimits(options.limits);
  const queue = createProgramQueue(options);
  let found: Promise<Sandbox> | undefined;
  const sandbox = () => (found ??= findSandbox(options.python ?? 'python3', limits, options.boundary));
  return defineTool({
    tool_id: 'code.python.code_interpreter',
    description:
      'Runs a Python program and returns what it prints. Each call starts from nothing: no variables or files of ' +
      'earlier calls, and no network. Files that it writes into its current folder are given to the user. ' +
      `It has ${limits.wall_seconds} s and ${Math.floor(limits.memory_bytes / (1024 * 1024))} MiB of memory.`,
    input: z.object({ code: z.string().min(1).describe('The whole program.') }),
    timeout: limits.wall_seconds * 1_000 + 2 * SLACK_MS + QUEUE_MS,
    idempotent: true,
    max_attempts: 2,
    async prepare() {
      await sandbox();
    },
    async run({ code }, context) {
      context.progress('Starting a sandbox...');
      const place = await sandbox();
      const { signal } = context;
      const run = await queue.run({ group: tenantOf(context), signal }, () => {
        context.progress('Executing Python script...');
        return runSandboxed(place, code, { signal, onOutput: (text) => context.output(text) });
      });
      const result = tellOutcome(run, limits);
      for (const file of run.files) await context.file(file);
      return result;
    },
  });
}
