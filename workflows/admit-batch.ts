/**
 * What may happen to each call of a batch before any of them runs: policy, limits, the functions of the
 * configuration. The answer is data, so that a batch that pauses can continue as new.
 */
import { proxyActivities } from '@temporalio/workflow';
import type { Admission, RunActivities } from '../contract/activities.js';
import { digestOf } from '../contract/digest.js';
import { READ_OUTPUT_TOOL } from '../contract/names.js';
import { decide } from '../contract/policy.js';
import type { PolicyDecision } from '../contract/policy.js';
import { callerOf } from '../contract/principal.js';
import { toolFailure } from '../contract/tool-failure.js';
import type { ToolFailure, ToolSpec } from '../contract/tools.js';
import { openAwait } from './awaits.js';
import { leaseOut } from './budget.js';
import { stopBeforeBatch, stopText } from './caps.js';
import { foundSpec } from './found-spec.js';
import type { RequestedCall, Step } from './model-step.js';
import { isSince2 } from './patches.js';
import { brokenCall } from './run-failure.js';
import { setPhase } from './run-page.js';
import type { Pinned, Run, Stop } from './run-state.js';
import { cancellationType, settle } from './settle.js';
import { stoppedFailure } from './stopped-failure.js';
import type { BatchCall } from './tool-batch.js';

export interface AdmittedBatch {
  calls: BatchCall[];
  stop?: Stop;
}

export async function admitBatch(
  run: Run,
  pinned: Pinned,
  step: Step,
  requested: RequestedCall[],
): Promise<AdmittedBatch> {
  const { spec } = pinned;
  const catalogue = new Map(spec.tools.map((tool) => [tool.tool_id, tool]));
  const undecided = new Map<string, PolicyDecision>();
  const calls: BatchCall[] = requested.map((call) => ({
    ...call,
    ...verdict(run, pinned, step, call, catalogue, undecided),
  }));
  const open = calls.filter((call) => call.failure === undefined);
  const children = open.filter((call) => catalogue.get(call.name)?.kind === 'agent');
  const stop = stopBeforeBatch(run, open.length, children.length);
  if (stop !== undefined) {
    const refusal = toolFailure('capped', `The call was not made: the batch would exceed ${stopText(stop)}.`);
    for (const call of calls) call.failure = refusal;
    noteUndecided(run, step, calls, undecided);
    return { calls, stop };
  }
  const asking = open.filter((call) => needsFunctions(call, catalogue));
  if (asking.length > 0) await evaluate(run, pinned, asking, catalogue);
  noteUndecided(run, step, calls, undecided);
  if (run.cancellation !== undefined || run.deadline_passed) {
    // While the functions ran. Nobody is asked any more, and nothing is started.
    for (const call of open) call.failure ??= stoppedFailure(run);
  }
  const admitted = calls.filter((call) => call.failure === undefined);
  run.counters.usage.tool_calls += admitted.length;
  const started = admitted.filter((call) => catalogue.get(call.name)?.kind === 'agent');
  if (started.length > 0) {
    run.counters.usage.children = (run.counters.usage.children ?? 0) + started.length;
    leaseOut(
      run,
      started.map((call) => call.tool_call_id),
    );
  }
  if (admitted.length > 0) setPhase(run, 'executing_tools');
  pauseForPeople(run, pinned, step, admitted, catalogue);
  return { calls };
}

/** Policy is fail-closed, and each decision is in the log: what a function has a say in, once it has said it. */
function verdict(
  run: Run,
  { spec, revision }: Pinned,
  step: Step,
  call: RequestedCall,
  catalogue: Map<string, ToolSpec>,
  undecided: Map<string, PolicyDecision>,
): { failure?: ToolFailure; needs_approval?: boolean } {
  const tool = catalogue.get(call.name);
  const denied = spec.denied_tools?.includes(call.name) === true;
  if (tool === undefined && !denied) return { failure: unavailable(call, catalogue) };
  // A run of before there were policies has none. To say that a goal is reached is no effect that one could forbid.
  if (spec.policies === undefined || tool?.kind === 'goal') return {};
  const asked = decide(spec.policies, call.name);
  const byTool = asked.decision === 'allow' && tool?.approval === 'always';
  const decision = byTool
    ? { decision: 'approve' as const, reason: 'the tool asks for approval of every call' }
    : asked;
  const isUndecided = asked.decision === 'allow' && tool?.approval === 'by_arguments' && isSince2(revision);
  if (isUndecided) undecided.set(call.tool_call_id, decision);
  else noteDecision(run, step, call, decision);
  if (decision.decision === 'deny' || tool === undefined) {
    return {
      failure: toolFailure('denied', `The policy of this run does not allow ${call.name}: ${decision.reason}.`),
    };
  }
  return { needs_approval: decision.decision === 'approve' };
}

function noteUndecided(
  run: Run,
  step: Step,
  calls: readonly BatchCall[],
  undecided: ReadonlyMap<string, PolicyDecision>,
): void {
  for (const call of calls) {
    const decision = undecided.get(call.tool_call_id);
    if (decision === undefined) continue;
    const byFunction = { decision: 'approve' as const, reason: 'the tool asks for approval of this call' };
    noteDecision(run, step, call, call.needs_approval === true ? byFunction : decision);
  }
}

function noteDecision(run: Run, step: Step, call: RequestedCall, decision: PolicyDecision): void {
  run.log.append({
    type: 'policy_decided',
    step_id: step.id,
    tool_id: call.name,
    tool_call_id: call.tool_call_id,
    ...decision,
  });
}

function needsFunctions(call: BatchCall, catalogue: Map<string, ToolSpec>): boolean {
  const { admission, kind, tool_id } = catalogue.get(call.name) ?? {};
  // Nobody is asked to approve a call that cannot be made.
  const isApproved = call.needs_approval === true && kind === undefined && tool_id !== READ_OUTPUT_TOOL;
  return admission === true || isApproved;
}

/** Functions cannot run in a workflow: an activity evaluates them, for calls that need it. */
async function evaluate(
  run: Run,
  { request, revision }: Pinned,
  asking: BatchCall[],
  catalogue: Map<string, ToolSpec>,
): Promise<void> {
  const { admitCalls } = proxyActivities<RunActivities>({
    startToCloseTimeout: 30_000,
    heartbeatTimeout: 10_000,
    cancellationType: cancellationType(run),
    retry: { maximumAttempts: 3 },
    summary: `admit ${asking.length} calls`,
  });
  const input = asking.map((call) => ({
    tool_call_id: call.tool_call_id,
    tool_id: call.name,
    arguments: call.arguments,
    ...foundSpec(catalogue.get(call.name)),
  }));
  const settled = await settle(run, () => admitCalls({ run: run.handle, caller: callerOf(request), calls: input }));
  const admissions: Admission[] = settled.state === 'done' ? settled.value : [];
  for (const call of asking) {
    const admission = admissions.find((candidate) => candidate.tool_call_id === call.tool_call_id);
    if (admission === undefined) {
      const stopped = run.cancellation !== undefined || run.deadline_passed;
      const broken = settled.state === 'failed' ? brokenCall(`To admit ${call.name}`, settled.error) : undefined;
      const failure = broken?.failure ?? toolFailure('internal', 'the call was not admitted');
      call.failure = stopped ? stoppedFailure(run) : failure;
      if (!stopped && broken !== undefined) call.debug_message = broken.debug_message;
      continue;
    }
    if (admission.failure !== undefined) call.failure = admission.failure;
    if (admission.debug_message !== undefined) call.debug_message = admission.debug_message;
    if (admission.approval === true) call.needs_approval = true;
    if (admission.arguments !== undefined && isSince2(revision)) call.given_arguments = admission.arguments;
    if (admission.prompt !== undefined) call.prompt = admission.prompt;
    if (admission.concurrency_key !== undefined) call.concurrency_key = admission.concurrency_key;
  }
}

/** Approvals, questions and client tools. What needs approval is asked of nobody else before it has it. */
function pauseForPeople(
  run: Run,
  pinned: Pinned,
  step: Step,
  calls: BatchCall[],
  catalogue: Map<string, ToolSpec>,
): void {
  const kindOf = (call: BatchCall) => catalogue.get(call.name)?.kind;
  for (const call of calls) {
    if (kindOf(call) === 'clarification' && questionOf(call.arguments).question === undefined) {
      call.failure = toolFailure('invalid_call', 'Give the question as {"question": "…", "choices"?: ["…"]}.');
    } else if (call.needs_approval === true) {
      call.approval = `approval_${call.tool_call_id}`;
      const { tool_call_id, name, given_arguments: args = call.arguments } = call;
      const digest = digestOf(`${name}\n${args}`);
      const asked = [{ tool_call_id, name, arguments: args }];
      const about = { kind: 'approval' as const, calls: asked, digest, ...expiry(pinned) };
      openAwait(run, { await_id: call.approval, ...about }, step.id, call.name);
    }
  }
  const ready = calls.filter((call) => call.needs_approval !== true && call.failure === undefined);
  for (const call of ready) if (kindOf(call) === 'clarification') askPeople(run, pinned, step, [call], 'clarification');
  const client = ready.filter((call) => kindOf(call) === 'client');
  if (client.length > 0) askPeople(run, pinned, step, client, 'client');
}

/** Opens the pause for one question, or for all calls of client tools that may be made. */
export function askPeople(
  run: Run,
  pinned: Pinned,
  step: Step,
  calls: BatchCall[],
  kind: 'clarification' | 'client',
): void {
  const [first] = calls;
  if (first === undefined) return;
  const common = { calls: shown(calls), ...expiry(pinned) };
  if (kind === 'clarification') {
    first.await_id = `clarification_${first.tool_call_id}`;
    const about = { await_id: first.await_id, kind, ...questionOf(first.arguments), ...common };
    openAwait(run, about, step.id, first.name);
    return;
  }
  const await_id = `external_tools_${first.approval === undefined ? step.id : first.tool_call_id}`;
  for (const call of calls) call.await_id = await_id;
  openAwait(run, { await_id, kind: 'external_tools', ...common }, step.id);
}

function expiry({ spec }: Pinned): { expires_at?: number } {
  return spec.await_expires_ms === undefined ? {} : { expires_at: Date.now() + spec.await_expires_ms };
}

function shown(calls: readonly BatchCall[]) {
  return calls.map((call) => ({ tool_call_id: call.tool_call_id, name: call.name, arguments: call.arguments }));
}

function questionOf(text: string): { question?: string; choices?: string[] } {
  try {
    const { question, choices } = JSON.parse(text) as { question?: unknown; choices?: unknown };
    if (typeof question !== 'string' || question.trim() === '') return {};
    const texts = Array.isArray(choices)
      ? choices.filter((choice): choice is string => typeof choice === 'string')
      : [];
    return { question, ...(texts.length === 0 ? {} : { choices: texts }) };
  } catch {
    return {};
  }
}

function unavailable(call: RequestedCall, catalogue: Map<string, ToolSpec>): ToolFailure {
  const names = [...catalogue.keys()].join(', ');
  return toolFailure(
    'unavailable',
    `There is no tool "${call.name}". ${names === '' ? 'There are no tools.' : `Tools: ${names}.`}`,
  );
}
