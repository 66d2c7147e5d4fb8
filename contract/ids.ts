/**
 * Identity: how ids look and how one is derived from another. No zod here, so workflows may import it.
 *
 * 1. A workflow's id is its `run_id`; a child's is its parent's id, `/`, and the tool call's id.
 * 2. A `tool_call_id` is minted by the runtime from the step, never taken from a vendor.
 * 3. A tool id is canonical (`service.toolset.tool`) everywhere inside; only providers know other names.
 */

export const AGENT_ID_PATTERN = /^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$/;
/** Callers' tools have names of their own languages, with capitals. */
export const TOOL_ID_PATTERN =
  /^(?:[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*|client\.declared\.client_[a-zA-Z0-9_]+)$/;
/** What the ids of a toolset's tools begin with. */
export const TOOLSET_ID_PATTERN = /^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$/;
export const STATE_CELL_PATTERN = /^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$/;
/** Of every tool that a client declares and runs itself. */
export const CLIENT_TOOL_NAME_PREFIX = 'client_';
export const CLIENT_TOOL_PATTERN = /^client_[a-zA-Z0-9_]+$/;
/** A run id that a caller chooses: no `/`, which separates a child from its parent. */
export const CALLER_RUN_ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$/;

/** What a caller may call the conversation that a run is part of, where that is no thread of ours. */
export const THREAD_NAME_PATTERN = /^[\p{L}\p{N}][\p{L}\p{N}._:@|+/=-]*$/u;

export function streamKey(runId: string): string {
  return `perdure.run.${runId}`;
}

export function eventId(runId: string, seq: number): string {
  return `${runId}:${seq}`;
}

export function stepId(stepNumber: number): string {
  return `step_${stepNumber}`;
}

/** `n` counts the calls of one step from 1. */
export function toolCallId(stepNumber: number, n: number): string {
  return `call_${stepNumber}_${n}`;
}

/** The step that made a call; undefined for an id that the runtime did not mint. */
export function stepIdOfCall(callId: string): string | undefined {
  const match = /^call_(\d+)_\d+$/.exec(callId);
  return match === null ? undefined : stepId(Number(match[1]));
}

/** The id of a step or a call where several runs are told together: each run counts its own. */
export function idInTree(runId: string, id: string): string {
  return `${runId}:${id}`;
}

/** `n` counts the blocks of one model call from 1; the same in every attempt. */
export function blockId(step: string, n: number): string {
  return `${step}.block_${n}`;
}

/** A child's run id: the same call can never start two children. */
export function childRunId(parentRunId: string, callId: string): string {
  return `${parentRunId}/${callId}`;
}

/** The canonical id of a tool that the caller declared. */
export function clientToolId(name: string): string {
  return `${DECLARED}${name}`;
}

export function isClientToolId(id: string): boolean {
  return id.startsWith(DECLARED);
}

const DECLARED = 'client.declared.';

/** Handed to every tool: the same call, however often it is tried, has the same key. */
export function idempotencyKey(runId: string, callId: string): string {
  return `${runId}/${callId}`;
}

/** The name that the wire formats of the seeds print: `web.pages.read_web_page` is `read_web_page`. */
export function toolName(toolId: string): string {
  return toolId.slice(toolId.lastIndexOf('.') + 1);
}

/** Whether its name says that the caller runs it: no tool that a worker runs has such a name. */
export function hasClientName(toolId: string): boolean {
  return toolName(toolId).startsWith(CLIENT_TOOL_NAME_PREFIX);
}

/** An org: no `:`, which separates it from the rest of a run id that its members choose, and nothing that a query could trip over. */
export const ORG_ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
export const USER_ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._:@|+-]{0,127}$/;
export const ROLE_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/;
