/**
 * One tool call. Failures of the tool are returned, not thrown; what is thrown is retried (idempotent tools only).
 *
 * T1  The tool's timeout and the run's cancel both abort its signal; a tool that ignores it is left behind after
 *     the grace period, and its late result goes nowhere.
 * T2  A tool's output never exceeds the inline limit when it is returned.
 */
import { isDeepStrictEqual } from 'node:util';
import { ApplicationFailure, Context } from '@temporalio/activity';
import type { CallToolInput, CallToolResult, GeneratedFile } from '../contract/activities.js';
import { fileIdOf, scopeOf } from '../contract/artefacts.js';
import type { ArtefactStore } from '../contract/artefacts.js';
import { digestOf } from '../contract/digest.js';
import { idempotencyKey } from '../contract/ids.js';
import { callerOf } from '../contract/principal.js';
import { failureText } from '../contract/tool-failure.js';
import type { StateChange } from '../contract/tool-state.js';
import type { ToolFailure } from '../contract/tools.js';
import type { ToolContext } from '../kit/define-tool.js';
import type { RegisteredTool } from '../kit/registry.js';
import { ToolError, isToolError } from '../kit/tool-error.js';
import { isValued, withValue } from '../kit/with-value.js';
import { findTool } from './find-tool.js';
import type { ToolSources } from './find-tool.js';
import { startHeartbeat } from './heartbeat.js';
import type { Heartbeat } from './heartbeat.js';
import { openLiveLine } from './live-line.js';
import type { LiveDependencies } from './live-line.js';
import { givenArguments } from './given-arguments.js';
import { parseArguments } from './parse-arguments.js';
import { failedCall, isUnexpected, Unsaid } from './thrown.js';
import type { ReportThrown } from './thrown.js';
import { createToolState } from './tool-state.js';
import { toToolOutput } from './tool-output.js';
import type { ToolOutput } from './tool-output.js';

/** Calls a tool's own code, with whatever it needs around it. */
export type AroundTool = <T>(call: { tool_id: string }, run: () => T | Promise<T>) => Promise<T>;

export interface ToolDependencies extends LiveDependencies, ToolSources {
  artefacts: ArtefactStore;
  threw: ReportThrown;
  around: AroundTool;
}

export async function callTool(dependencies: ToolDependencies, input: CallToolInput): Promise<CallToolResult> {
  const artefacts = dependencies.artefacts.of(scopeOf(input.run.root_run_id));
  const context = Context.current();
  const { attempt } = context.info;
  const started = Date.now();
  const heartbeat = startHeartbeat(context, dependencies.calls);
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
    ...changesOf(state.changes, failure),
  });

  let [chunks, length] = [0, 0];
  try {
    const output = await execute(dependencies, input, context, heartbeat, {
      artefacts,
      state,
      notice: (text) => void notices.push(text),
      async file({ filename, mime_type, content }) {
        const { id, byte_size } = await artefacts.put(content, mime_type);
        const file_id = fileIdOf(id, { filename, mime_type });
        files.push({ file_id, filename, mime_type, byte_size });
        return { file_id };
      },
      progress(message, fraction) {
        const live_id = `${input.tool_call_id}.progress_${progress.length + 1}`;
        const note = { message, ...(fraction === undefined ? {} : { fraction }), live_id };
        progress.push(note);
        live.publish({ type: 'tool_progress', ...ids, ...note });
      },
      output(text) {
        const [index, offset] = [chunks, length];
        chunks += 1;
        length += text.length;
        const block_id = `${input.tool_call_id}.output`;
        live.publish({
          type: 'tool_output_chunk',
          live_id: `${block_id}#${attempt}.${index}`,
          ...ids,
          block_id,
          attempt,
          index,
          offset,
          text,
        });
      },
    });
    return finish(output);
  } catch (error) {
    const { failure, debug_message } = failedCall(input.tool_id, error);
    const digest = debug_message === undefined ? undefined : digestOf(debug_message);
    if (isUnexpected(error)) {
      const repeated = digest !== undefined && digest === notesOf(context).threw;
      const { run_id } = input.run;
      dependencies.threw({
        what: `tool ${input.tool_id}`,
        error,
        run_id,
        tool_call_id: input.tool_call_id,
        attempt,
        repeated,
      });
    }
    if (isRetryable(error) && !heartbeat.isCanceled() && attempt < (context.info.retryPolicy?.maximumAttempts ?? 1)) {
      heartbeat.note({ reasons: [...retries, failure.message], threw: digest });
      throw ApplicationFailure.retryable(failure.message, failure.kind);
    }
    const debug = debug_message === undefined ? {} : { debug_message };
    return { ...finish({ content: failureText(failure) }, failure), ...debug };
  } finally {
    heartbeat.stop();
    await live.flush();
  }
}

function changesOf(changes: StateChange[], failure: ToolFailure | undefined): Pick<CallToolResult, 'changes'> {
  const made = failure === undefined ? changes : changes.filter((change) => 'always' in change && change.always);
  return made.length === 0 ? {} : { changes: made };
}

async function execute(
  { registry, toolsets, around }: ToolDependencies,
  input: CallToolInput,
  context: Context,
  heartbeat: Heartbeat,
  given: Pick<ToolContext, 'progress' | 'output' | 'notice' | 'file' | 'state' | 'artefacts'>,
): Promise<ToolOutput> {
  const known = findTool({ registry, toolsets }, input.tool_id, input.found);
  if (known === undefined)
    throw new ToolError(
      'unavailable',
      `This worker has no tool ${input.tool_id}: it may have been removed since the run began.`,
    );
  const { options } = known.tool;
  const args = await parseArguments(known, input.arguments);
  checkApproved(input, args);
  const timeout = AbortSignal.timeout(known.spec.timeout_ms);
  const signal = AbortSignal.any([heartbeat.signal, timeout]);
  const running = around({ tool_id: input.tool_id }, () =>
    options.run(args, {
      ...given,
      run: input.run,
      ...(input.caller ?? callerOf({})),
      tool_call_id: input.tool_call_id,
      idempotency_key: idempotencyKey(input.run.run_id, input.tool_call_id),
      attempt: context.info.attempt,
      signal,
    }),
  );
  const value = await stopAfterGrace(running, signal, registry.runtime.cancel_grace_ms).catch((error: unknown) => {
    if (!signal.aborted || isToolError(error)) throw error;
    throw abortedError(heartbeat, timeout, known, error);
  });
  return toToolOutput(await checkOutput(known, value), given.artefacts);
}

/** A tool that was deployed since it was approved may make something else of the same words. */
function checkApproved({ tool_id, arguments: text, approved }: CallToolInput, args: unknown): void {
  if (approved === undefined || isDeepStrictEqual(JSON.parse(givenArguments(args, text)), JSON.parse(approved))) return;
  const what = `${tool_id} would be given other arguments by now than those that were approved.`;
  throw new ToolError('denied', `${what} Ask again.`);
}

async function checkOutput(known: RegisteredTool, value: unknown): Promise<Parameters<typeof toToolOutput>[0]> {
  const { output } = known.tool.options;
  if (output === undefined) return value as Parameters<typeof toToolOutput>[0];
  const parsed = await output.safeParseAsync(isValued(value) ? value.value : value);
  if (parsed.success && isValued(value)) return withValue(value.content, parsed.data);
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
      timer = setTimeout(() => reject(new NotStopped(graceMs)), graceMs);
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

function abortedError(heartbeat: Heartbeat, timeout: AbortSignal, known: RegisteredTool, error: unknown): ToolError {
  const { tool_id, idempotent, timeout_ms } = known.spec;
  // What a tool throws as it is told to stop is mostly that it was.
  const detail = error instanceof NotStopped ? ` (${error.message})` : '';
  const cause = isUnexpected(error) && detail === '' ? new Unsaid('', { cause: error }) : undefined;
  if (heartbeat.isCanceled()) return new ToolError('canceled', `${tool_id} was canceled${detail}.`);
  if (timeout.aborted) {
    const message = `${tool_id} did not finish within ${timeout_ms} ms${detail}.`;
    return new ToolError('timeout', message, { retryable: idempotent, cause });
  }
  return idempotent
    ? new ToolError('internal', `The worker is shutting down${detail}.`, { retryable: true })
    : new ToolError(
        'outcome_unknown',
        `The worker was shut down while ${tool_id} ran; it may or may not have taken effect${detail}.`,
      );
}

/** A tool was told to stop, and the grace has passed. */
class NotStopped extends Error {
  constructor(graceMs: number) {
    super(`it did not stop within ${graceMs} ms of being told to`);
  }
}

function isRetryable(error: unknown): boolean {
  return isToolError(error) ? error.retryable : true;
}

/** Why each earlier attempt was given up: what it noted before it threw, or that its worker was lost. */
function earlierReasons(context: Context): string[] {
  const { attempt } = context.info;
  const noted = (notesOf(context).reasons ?? []).slice(0, attempt - 1);
  return [...noted, ...Array.from({ length: attempt - 1 - noted.length }, () => 'the worker was lost')];
}

/** What the attempts before this one noted. `threw` is a digest: what was thrown is nobody's to keep. */
function notesOf({ info }: Context): { reasons?: string[]; threw?: string } {
  return (info.heartbeatDetails as ReturnType<typeof notesOf> | undefined) ?? {};
}
