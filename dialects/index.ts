/** The wire formats by name, and the consumer's side of the event contract. Runs anywhere, browsers included. */
import { agentEvents } from './agent-events/agent-events.js';
import type { Dialect } from './dialect.js';
import { eventContract } from './event-contract/event-contract.js';
import { perdure } from './perdure/perdure.js';
import { taskSteps } from './task-steps/task-steps.js';

export type { Dialect, DialectOptions, Line, LineData, Told } from './dialect.js';
export type { Routed } from './event-contract/routed.js';
export { createRouter } from './event-contract/router.js';
export type { Router } from './event-contract/router.js';
export type { ContractEvent } from './told-runs.js';
export { projectTaskSteps } from './task-steps/project-task-steps.js';

/** A state is only ever given back to the dialect that made it; whoever holds a table of dialects cannot look into it. */
export type AnyDialect = Dialect<DialectState>;
declare const opaque: unique symbol;
export interface DialectState {
  readonly [opaque]: true;
}

export const DIALECTS = {
  perdure: hidden(perdure),
  event_contract: hidden(eventContract),
  task_steps: hidden(taskSteps),
  agent_events: hidden(agentEvents),
} as const satisfies Record<string, AnyDialect>;

export type DialectName = keyof typeof DIALECTS;

export function isDialectName(name: string): name is DialectName {
  return Object.hasOwn(DIALECTS, name);
}

/** The one cast that this needs: the types of four states become one that only the dialects can make. */
function hidden<State>(dialect: Dialect<State>): AnyDialect {
  return dialect as unknown as AnyDialect;
}
