/** What the emitter knows of a run, and how its lines are numbered. */
import type { StreamEvent } from '../../contract/live-events.js';
import type { Line, Told } from '../dialect.js';
import type { Shown } from '../shown-text.js';
import { calledTool } from '../tool-words.js';
import type { CodeReader } from './code-field.js';
import type { ContractLine } from './shapes.js';
import { openCall, RUNTIME } from './tool-lines.js';
import type { OpenCall } from './tool-lines.js';

export interface ContractState {
  readonly shown: Shown;
  readonly nested: boolean;
  readonly calls: Readonly<Record<string, OpenCall>>;
  /** Per block of arguments that is being written: how far its code was read. */
  readonly readers: Readonly<Record<string, { readonly attempt: number; readonly reader: CodeReader }>>;
}

export type ContractTold = Told<ContractState>;

export function quiet(state: ContractState): ContractTold {
  return { state, lines: [], warnings: [] };
}

/** The lines of a durable event, numbered from 0. */
export function told(state: ContractState, lines: readonly ContractLine[], warnings: readonly string[] = []) {
  return { state, lines: lines.map((data, place): Line => ({ place, data })), warnings };
}

/** Lines that live events made, or that are there only because of some. */
export function unplaced(lines: readonly ContractLine[]): Line[] {
  return lines.map((data) => ({ data }));
}

/** The call that an event belongs to, as far as it is known. */
export function callOf(
  state: ContractState,
  event: StreamEvent & { tool_call_id?: string | undefined; tool_id?: string | undefined; name?: string },
): OpenCall {
  return state.calls[event.tool_call_id ?? ''] ?? openCall(calledTool(event) || RUNTIME, '{}');
}
