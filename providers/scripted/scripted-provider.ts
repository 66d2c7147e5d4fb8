/** A deterministic model for tests and for the demo: it says what its script says, and fails on any other call. */
import { PerdureError } from '../../contract/errors.js';
import type { ModelProvider, ModelRequest } from '../../contract/model-provider.js';
import { labelOf, pickTurn } from './pick-turn.js';
import { playReply } from './play-reply.js';
import { parseScript } from './script-from-input.js';
import type { Script } from './script.js';

const CALLS_KEPT = 100;

export interface ScriptedProvider extends ModelProvider {
  /** The requests that this process has seen, the last 100, oldest first. */
  readonly calls: readonly ModelRequest[];
  /**
   * Throws when a turn of the script was never asked for in this process. The script's own synthesis may be left
   * over: it is there for whatever limit strikes. A script that is a function has no leftovers to know of: it throws.
   */
  assertFinished(): void;
}

export function scripted(script: Script | ((request: ModelRequest) => Script)): ScriptedProvider {
  const fixed = typeof script === 'function' ? undefined : parseScript(script, 'What scripted() was given');
  const calls: ModelRequest[] = [];
  const played = new Set<number>();
  return {
    name: 'scripted',
    calls,
    async *stream(request, signal) {
      calls.push({ ...request, messages: [...request.messages] });
      if (calls.length > CALLS_KEPT) calls.shift();
      const current = typeof script === 'function' ? parseScript(script(request), 'What the function gave') : script;
      const { index, reply } = pickTurn(current, request);
      if (index !== undefined) played.add(index);
      yield* playReply(reply, request, signal, labelOf(index));
    },
    assertFinished() {
      if (fixed === undefined)
        throw new PerdureError(
          'script_mismatch',
          'A script that is a function has no leftovers that could be asserted',
        );
      const left = fixed.turns.map((_, index) => index).filter((index) => !played.has(index));
      if (left.length === 0) return;
      const turns = left.map((index) => labelOf(index)).join(', ');
      throw new PerdureError('script_mismatch', `Of ${fixed.turns.length} turns these were never played: ${turns}`);
    },
  };
}
