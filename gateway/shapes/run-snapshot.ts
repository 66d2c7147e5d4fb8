/** What is read of a run: the contract's projections as schemas, for the description of the routes. */
import { z } from 'zod';
import type { OpenAwait } from '../../contract/awaits.js';
import { BaseMessage } from '../../contract/messages.js';
import { StreamMarker } from '../../contract/live-events.js';
import { Cancellation, Failure, RunHandle, RunLink, RunPhase, RunUsage } from '../../contract/run.js';
import type { RunSnapshot as Snapshot, StepSnapshot, ToolSnapshot } from '../../contract/snapshot.js';
import { ToolFailureKind } from '../../contract/tools.js';

const count = z.number().int();

const Tool = z.strictObject({
  tool_call_id: z.string(),
  name: z.string(),
  tool_id: z.string().exactOptional(),
  arguments: z.string(),
  state: z.enum(['requested', 'scheduled', 'success', 'error']),
  failure_kind: ToolFailureKind.exactOptional(),
  duration_ms: z.number().exactOptional(),
  attempts: count.exactOptional(),
}) satisfies z.ZodType<ToolSnapshot>;

const Step = z.strictObject({
  step_id: z.string(),
  step_number: count,
  title: z.string(),
  started_at: z.string(),
  status: z.enum(['completed', 'error']).exactOptional(),
  duration_ms: z.number().exactOptional(),
  text: z.string().exactOptional(),
  tools: z.array(Tool),
}) satisfies z.ZodType<StepSnapshot>;

const Await = z.strictObject({
  await_id: z.string(),
  kind: z.enum(['clarification', 'external_tools', 'approval']),
  run_id: z.string(),
  question: z.string().exactOptional(),
  choices: z.array(z.string()).exactOptional(),
  calls: z.array(z.object({ tool_call_id: z.string(), name: z.string(), arguments: z.string() })).exactOptional(),
  digest: z.string().exactOptional(),
  /** Of an approval: the arguments as they will be given, then the tool, each in a line and without a character that cannot be seen. */
  rendering: z.string().exactOptional(),
  expires_at: z.string().exactOptional(),
}) satisfies z.ZodType<OpenAwait>;

const standing = {
  phase: RunPhase,
  status: z.enum(['running', 'success', 'failed', 'canceled']),
  started_at: z.string(),
  duration_ms: z.number().exactOptional(),
  awaits: z.array(Await),
  usage: RunUsage,
  tree_usage: RunUsage.exactOptional(),
  answer: z.string().exactOptional(),
  failure: Failure.exactOptional(),
  cancellation: Cancellation.exactOptional(),
  /** Where the engine ended the run, and it could not write its end. */
  engine_end: StreamMarker.exactOptional(),
};

export const RunSnapshot = z.strictObject({
  run: RunHandle,
  ...standing,
  tail: count,
  steps: z.array(Step),
  children: z.array(RunLink.extend({ tool_call_id: z.string() })),
}) satisfies z.ZodType<Snapshot>;

/** A run in its tree: how it stands, without its steps. What it is cannot be said while it has no log. */
export const RunTree = z.strictObject({
  run_id: z.string(),
  agent_id: z.string(),
  tool_call_id: z.string().exactOptional(),
  standing: z.strictObject(standing).exactOptional(),
  get children() {
    return z.array(RunTree);
  },
});
export type RunTree = z.infer<typeof RunTree>;

export const Transcript = z.strictObject({ run_id: z.string(), messages: z.array(BaseMessage) });
