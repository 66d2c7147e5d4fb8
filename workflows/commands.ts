/**
 * The commands of a run or a thread, by two ways: as updates, and as the signal `command` where the server takes no more
 * updates of this execution.
 *
 * C1  By either way the same is checked and done.
 * C2  What became of one that came as a signal is kept for its sender, over continue-as-new.
 */
import {
  ApplicationFailure,
  currentUpdateInfo,
  defineQuery,
  defineSignal,
  defineUpdate,
  patched,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { isCommandSignal } from '../contract/command-signal.js';
import type { CommandOutcome, CommandSignal, OutcomeAnswer, OutcomeRequest } from '../contract/command-signal.js';
import { COMMAND, READ_OUTCOME } from '../contract/names.js';
import { cutText, TEXT_LIMITS } from '../contract/sizes.js';
import { COMMAND_SIGNALS } from './patches.js';

export interface Command<Given = never> {
  /** Throws an `ApplicationFailure` where it cannot be taken. */
  check?: (given: Given, id: string | undefined) => void;
  take: (given: Given, id: string | undefined) => unknown;
  description: string;
}

/** One that came as a signal: its id, and which time of several it was sent under that id. */
interface Kept extends OutcomeRequest {
  outcome: CommandOutcome;
}

/** The last ones. */
export type Outcomes = Kept[];

/** As many as senders may be waiting for. */
const OUTCOMES_KEPT = 100;

export function registerCommands(commands: Readonly<Record<string, Command>>, outcomes: Outcomes): void {
  const takeSignal = createTakeSignal(commands, outcomes);
  for (const [name, { check, take, description }] of Object.entries(commands)) {
    setHandler(
      defineUpdate<unknown, [given: unknown]>(name),
      (given) => take(given as never, currentUpdateInfo()?.id),
      {
        ...(check === undefined ? {} : { validator: (given) => check(given as never, currentUpdateInfo()?.id) }),
        description,
      },
    );
  }
  setHandler(defineSignal<[CommandSignal]>(COMMAND), takeSignal, {
    description: 'Any of the updates, where the server takes no more of them: {"id": "…", "name": "…", "command": {…}}',
  });
  setHandler(
    defineQuery<OutcomeAnswer, [request?: OutcomeRequest]>(READ_OUTCOME),
    (request) => {
      const outcome = outcomes.find((kept) => isOf(kept, request ?? { id: '' }))?.outcome;
      return { as_of: workflowInfo().historyLength, ...(outcome === undefined ? {} : { outcome }) };
    },
    { description: 'What became of a command that came as a signal: {"id": "…"}' },
  );
}

/** What was refused may be asked again, as with an update; what was taken is taken once, however often it comes. */
function isOf({ id, attempt, outcome }: Kept, request: OutcomeRequest): boolean {
  return id === request.id && ('answer' in outcome || attempt === request.attempt);
}

/** One that is done at once is also noted at once: what continues as new in this moment takes the outcome along. */
function createTakeSignal(commands: Readonly<Record<string, Command>>, outcomes: Outcomes) {
  const begun = new Map<string, Promise<CommandOutcome>>();
  const keep = ({ id, attempt }: CommandSignal, outcome: CommandOutcome) => {
    outcomes.push({ id, ...(attempt === undefined ? {} : { attempt }), outcome });
    if (outcomes.length > OUTCOMES_KEPT) outcomes.shift();
  };
  return async (signal: unknown): Promise<void> => {
    if (!isCommandSignal(signal) || !patched(COMMAND_SIGNALS)) return;
    if (outcomes.some((kept) => isOf(kept, signal))) return;
    const outcome = begun.get(signal.id) ?? perform(commands, signal);
    if (!(outcome instanceof Promise)) return keep(signal, outcome);
    begun.set(signal.id, outcome);
    const ended = await outcome;
    begun.delete(signal.id);
    keep(signal, ended);
  };
}

function perform(
  commands: Readonly<Record<string, Command>>,
  { id, name, command }: CommandSignal,
): CommandOutcome | Promise<CommandOutcome> {
  const known = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (known === undefined) return { code: 'invalid_request', message: 'There is no such command.' };
  try {
    known.check?.(command as never, id);
  } catch (error) {
    // As of an update: what cannot be checked, whatever it is, is refused.
    return refused(error) ?? { code: 'invalid_request', message: 'The command cannot be read.' };
  }
  try {
    const answer = known.take(command as never, id);
    return answer instanceof Promise ? answer.then(answered, orThrow) : answered(answer);
  } catch (error) {
    return orThrow(error);
  }
}

function answered(answer: unknown): CommandOutcome {
  return { answer };
}

function refused(error: unknown): CommandOutcome | undefined {
  if (!(error instanceof ApplicationFailure)) return undefined;
  return { code: error.type ?? 'invalid_request', message: cutText(error.message, TEXT_LIMITS.note) };
}

function orThrow(error: unknown): CommandOutcome {
  const outcome = refused(error);
  if (outcome === undefined) throw error;
  return outcome;
}
