/**
 * One tool call. Failures of the tool are returned, not thrown; what is thrown is retried (idempotent tools only).
 *
 * T1  The tool's timeout and the run's cancel both abort its signal; a tool that ignores it is left behind after
 *     the grace period, and its late result goes nowhere.
 * T2  A tool's output never exceeds the inline limit when it is returned.
 */
import { ApplicationFailure, Context } from '@temporalio/activity';
import type { CallToolInput, CallToolResult, GeneratedFile } from '../contract/activities.js';
import type { ArtefactStore } from '../contract/artefacts.js';
import { idempotencyKey } from '../contract/ids.js';
import { failureText, toolFailure } from '../contract/tool-failure.js';
import type { ToolFailure } from '../contract/tools.js';
import type { ToolContext } from '../kit/define-tool.js';
import type { RegisteredTool } from '../kit/registry.js';
import { ToolError, isToolError } from '../kit/tool-error.js';
import { findTool } from './find-tool.js';
import type { ToolSources } from './find-tool.js';
import { isCancelRequested, startHeartbeat } from './heartbeat.js';
import { openLiveLine } from './live-line.js';
import type { LiveDependencies } from './live-line.js';
import { InvalidCall, parseArguments } from './parse-arguments.js';
import { createToolState } from './tool-state.js';
import { toToolOutput } from './tool-output.js';
import type { ToolOutput } from './tool-output.js';

export interface ToolDependencies extends LiveDependencies, ToolSources {
  artefacts: ArtefactStore;
}

export async function callTool(dependencies: ToolDependencies, input: CallToolInput): Promise<CallToolResult> {
  const context = Context.current();
  const { attempt } = context.info;
  const started = Date.now();
  const heartbeat = startHeartbeat(context);
  const live = openLiveLine(dependencies, context, input);
  const ids = { tool_id: input.tool_id, tool_call_id: input.tool_call_id };
  const retries = earlierReasons(context);
  if (attempt > 1) {
    const reason = retries.at(-1) ?? '';
    live.publish({ type: 'tool_retry', live_id: `${input.tool_call_id}.retry_${attempt}`, ...ids, attempt, reason });
  }
  const progress: CallToolResult['progress'] = [];
  const notices: string[] = [];
  const files: GeneratedFile[] = [];
  const state = createToolState(input);
  const finish = (output: ToolOutput, failure?: ToolFailure): CallToolResult => ({
    ...output,
    ...(failure === undefined ? {} : { failure }),
    duration_ms: Date.now() - started,
    attempts: attempt,
    progress,
    retries,
    ...(notices.length === 0 ? {} : { notices }),
    ...(files.length === 0 ? {} : { files }),
    ...(failure !== undefined || state.changes.length === 0 ? {} : { changes: state.changes }),
  });

  let chunks = 0;
  try {
    const output = await execute(dependencies, input, context, {
      state,
      notice: (text) => void notices.push(text),
      async file({ filename, mime_type, content }) {
        const { id, byte_size } = await dependencies.artefacts.put(content, mime_type);
        files.push({ file_id: id, filename, mime_type, byte_size });
        return { file_id: id };
      },
      progress(message, fraction) {
        const live_id = `${input.tool_call_id}.progress_${progress.length + 1}`;
        const note = { message, ...(fraction === undefined ? {} : { fraction }), live_id };
        progress.push(note);
        live.publish({ type: 'tool_progress', ...ids, ...note });
      },
      output(text) {
        const index = chunks++;
        const block_id = `${input.tool_call_id}.output`;
        live.publish({
          type: 'tool_output_chunk',
          live_id: `${block_id}#${attempt}.${index}`,
          ...ids,
          block_id,
          attempt,
          index,
          text,
        });
      },
    });
    return finish(output);
  } catch (error) {
    const failure = toFailure(error, input.tool_id);
    if (
      isRetryable(error) &&
      !isCancelRequested(context) &&
      attempt < (context.info.retryPolicy?.maximumAttempts ?? 1)
    ) {
      heartbeat.note({ reasons: [...retries, failure.message] });
      throw ApplicationFailure.retryable(failure.message, failure.kind);
    }
    return finish({ content: failureText(failure) }, failure);
  } finally {
    heartbeat.stop();
    await live.flush();
  }
}

async function execute(
  { registry, toolsets, artefacts }: ToolDependencies,
  input: CallToolInput,
  context: Context,
  given: Pick<ToolContext, 'progress' | 'output' | 'notice' | 'file' | 'state'>,
): Promise<ToolOutput> {
  const known = findTool({ registry, toolsets }, input.tool_id, input.found);
  if (known === undefined)
    throw new ToolError(
      'unavailable',
      `This worker has no tool ${input.tool_id}: it may have been removed since the run began.`,
    );
  const { options } = known.tool;
  const args = await parseArguments(known, input.arguments);
  const timeout = AbortSignal.timeout(known.spec.timeout_ms);
  const signal = AbortSignal.any([context.cancellationSignal, timeout]);
  const running = Promise.resolve().then(() =>
    options.run(args, {
      ...given,
      run: input.run,
      tool_call_id: input.tool_call_id,
      idempotency_key: idempotencyKey(input.run.run_id, input.tool_call_id),
      attempt: context.info.attempt,
      signal,
      artefacts,
    }),
  );
  const value = await stopAfterGrace(running, signal, registry.runtime.cancel_grace_ms).catch((error: unknown) => {
    if (!signal.aborted || isToolError(error)) throw error;
    throw abortedError(context, timeout, known, error);
  });
  return toToolOutput(await checkOutput(known, value), artefacts);
}

async function checkOutput(known: RegisteredTool, value: unknown): Promise<Parameters<typeof toToolOutput>[0]> {
  const { output } = known.tool.options;
  if (output === undefined) return value as Parameters<typeof toToolOutput>[0];
  const parsed = await output.safeParseAsync(value);
  if (parsed.success) return parsed.data as Parameters<typeof toToolOutput>[0];
  throw new ToolError(
    'malformed_result',
    `${known.spec.tool_id} returned what its own output schema refuses: ${parsed.error.message}`,
  );
}

/** The tool's own end, or, once its signal has aborted and the grace has passed, an error in its place. */
async function stopAfterGrace<T>(running: Promise<T>, signal: AbortSignal, graceMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const given = new Promise<never>((_resolve, reject) => {
    const begin = () => {
      timer = setTimeout(() => reject(new Error(`it did not stop within ${graceMs} ms of being told to`)), graceMs);
    };
    if (signal.aborted) begin();
    else signal.addEventListener('abort', begin, { once: true });
  });
  try {
    return await Promise.race([running, given]);
  } finally {
    clearTimeout(timer);
  }
}

function abortedError(context: Context, timeout: AbortSignal, known: RegisteredTool, error: unknown): ToolError {
  const { tool_id, idempotent, timeout_ms } = known.spec;
  const detail = error instanceof Error ? ` (${error.message})` : '';
  if (isCancelRequested(context)) return new ToolError('canceled', `${tool_id} was canceled${detail}.`);
  if (timeout.aborted) {
    const message = `${tool_id} did not finish within ${timeout_ms} ms${detail}.`;
    return new ToolError('timeout', message, { retryable: idempotent });
  }
  return idempotent
    ? new ToolError('internal', `The worker is shutting down${detail}.`, { retryable: true })
    : new ToolError(
        'outcome_unknown',
        `The worker was shut down while ${tool_id} ran; it may or may not have taken effect${detail}.`,
      );
}

function toFailure(error: unknown, toolId: string): ToolFailure {
  if (error instanceof InvalidCall) return toolFailure(error.kind, error.message, error.issues);
  if (isToolError(error)) return toolFailure(error.kind, error.message);
  return toolFailure('internal', `${toolId} failed: ${error instanceof Error ? error.message : String(error)}`);
}

function isRetryable(error: unknown): boolean {
  return isToolError(error) ? error.retryable : true;
}

/** Why each earlier attempt was given up: what it noted before it threw, or that its worker was lost. */
function earlierReasons(context: Context): string[] {
  const { attempt, heartbeatDetails } = context.info;
  const noted = ((heartbeatDetails as { reasons?: string[] } | undefined)?.reasons ?? []).slice(0, attempt - 1);
  return [...noted, ...Array.from({ length: attempt - 1 - noted.length }, () => 'the worker was lost')];
}
