/**
 * What of the open turn is not shown yet, so that whoever has the turn finds what it has it for.
 *
 * K1  While the client owes results of its tools, or waits for leave to run one, what `contract/turn-pauses.ts` keeps
 *     back is not asked here either.
 * K2  While one of the client's tools waits for leave it is not the client's turn, whatever else it is to run: published
 *     clients run all of their tools that a message has.
 *
 * The run says when that is over, and not what was given here: only then is there something to see.
 */
import { patched } from '@temporalio/workflow';
import type { ChildAwaitChange } from '../../contract/awaits.js';
import type { OpenPause } from '../../contract/thread-commands.js';
import { HELD_PAUSES } from '../patches.js';
import type { Thread, Turn } from './thread-state.js';

/** A pause that is for the client's tools. */
export interface Holding {
  await_id: string;
  kind: 'external_tools' | 'approval';
}

export function noteHolding(thread: Thread, turn: Turn, change: ChildAwaitChange): void {
  const { link, await_id, kind, state, calls } = change;
  if (link.run_id !== turn.run_id) return;
  thread.holding = thread.holding.filter((held) => held.await_id !== await_id);
  if (state !== 'open' || !Array.isArray(calls) || kind === 'clarification') return;
  if (kind === 'external_tools' || patched(HELD_PAUSES)) thread.holding.push({ await_id, kind });
}

/** After each notice of the run. */
export function holdPauses(thread: Thread, { run_id }: Turn): void {
  const mayBeHeld = (pause: OpenPause) =>
    pause.asked !== undefined && (pause.kind === 'clarification' || pause.run_id !== run_id);
  const isHolding = thread.holding.length > 0 && thread.pauses.some(mayBeHeld) && patched(HELD_PAUSES);
  thread.pauses = thread.pauses.map(({ held: _held, ...pause }) =>
    isHolding && mayBeHeld(pause) ? { ...pause, held: true } : pause,
  );
}

/** K2 */
export function wantsLeave({ holding }: Thread): boolean {
  return holding.some(({ kind }) => kind === 'approval');
}
