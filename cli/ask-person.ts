/** Pauses, answered one after another by the person who watches the run. */
import type { ClientToolResult } from '../contract/awaits.js';
import { toolName } from '../contract/ids.js';
import { approvalPages, approvalQuestion, terminalRoom } from './approval-pages.js';
import { submit } from './submit-answer.js';
import type { Wish } from './submit-answer.js';
import { messageOf } from './command-error.js';
import { choiceLines, expiry, questionLines } from './describe-pause.js';
import type { LineReader } from './keyboard/line-reader.js';
import type { Pause } from './open-pauses.js';
import { DECISION_HINT, neitherYesNorNo, parseDecision } from './parse-decision.js';
import { valueOf } from './parse-results.js';
import type { RunView } from './view/run-view.js';
import type { RunCommands } from './run-commands.js';

export interface Asking {
  /** What is open now. */
  pauses(open: readonly Pause[]): void;
  stop(): void;
}

export interface AskOptions {
  runs: RunCommands;
  reader: LineReader;
  view: Pick<RunView, 'prompt' | 'note'>;
  answeredBy: string;
  /** Nobody answers it here: whoever sits here does not want to, or there is no keyboard any more. */
  left(pause: Pause): void;
}

const idOf = ({ run_id, await_id }: Pause) => `${run_id} ${await_id}`;

export function askPerson({ runs, reader, view, answeredBy, left }: AskOptions): Asking {
  const answered = new Set<string>();
  let open: readonly Pause[] = [];
  let current: { id: string; gone: AbortController } | undefined;
  let stopped = false;

  function next(): void {
    const pause =
      stopped || current !== undefined ? undefined : open.find((candidate) => !answered.has(idOf(candidate)));
    if (pause === undefined) return;
    const gone = new AbortController();
    current = { id: idOf(pause), gone };
    void converse(pause, gone.signal)
      .catch((error: unknown) => view.note(`the answer was not taken: ${messageOf(error)}`))
      .finally(() => {
        current = undefined;
        view.prompt(undefined);
        next();
      });
  }

  async function converse(pause: Pause, signal: AbortSignal): Promise<void> {
    const wish = await wishOf(pause, (lines) => ask(lines, signal));
    if (wish === undefined && signal.aborted) return;
    // Whatever comes of it: who was refused finds the reason in the note, and must not be asked for ever.
    answered.add(idOf(pause));
    if (wish === undefined) left(pause);
    else await submit(runs, pause, wish, answeredBy);
  }

  function ask(lines: readonly string[], signal: AbortSignal): Promise<string | undefined> {
    return reader.read((text) => view.prompt([...lines, `> ${text}`]), signal);
  }

  return {
    pauses(now) {
      open = now;
      if (current !== undefined && !now.some((pause) => idOf(pause) === current?.id)) current.gone.abort();
      next();
    },
    stop() {
      stopped = true;
      current?.gone.abort();
    },
  };
}

type Ask = (lines: readonly string[]) => Promise<string | undefined>;

/**
 * Undefined when the pause is over before it was answered here. `refused` is what was said before, and is neither yes
 * nor no.
 */
export async function wishOf(pause: Pause, ask: Ask, refused?: string): Promise<Wish | undefined> {
  const until = expiry(pause);
  const whose = `${pause.agent_id} asks${until === undefined ? '' : ` (${until})`}:`;
  if (pause.kind === 'external_tools') return wishedResults(pause, whose, ask);
  if (pause.kind === 'approval') return wishedDecision(pause, whose, ask, refused);
  for (;;) {
    const text = (await ask([whose, ...questionLines(pause), ...choiceLines(pause)]))?.trim();
    if (text === undefined) return undefined;
    if (text !== '') return { kind: 'clarification', text: pause.choices?.[Number(text) - 1] ?? text };
  }
}

/** A yes counts when all of the call was shown. */
async function wishedDecision(pause: Pause, whose: string, ask: Ask, refused?: string): Promise<Wish | undefined> {
  const pages = approvalPages(pause, terminalRoom());
  let [n, said] = [0, refused];
  for (;;) {
    const isLast = n >= pages.length - 1;
    const place = isLast ? DECISION_HINT : `${n + 1} of ${pages.length}: Enter shows the next; n denies`;
    const hint = said === undefined ? place : isLast ? neitherYesNorNo(said) : `"${said}" does not count yet; ${place}`;
    const text = (await ask([whose, ...(pages[n] ?? []), approvalQuestion(pause), hint]))?.trim();
    if (text === undefined) return undefined;
    const decision = parseDecision(text);
    if (decision !== undefined && (isLast || decision.decision === 'deny')) return decision;
    if (text === '' && !isLast) n += 1;
    said = text === '' ? undefined : text;
  }
}

async function wishedResults(pause: Pause, whose: string, ask: Ask): Promise<Wish | undefined> {
  const results: ClientToolResult[] = [];
  for (const { tool_call_id, name, arguments: args } of pause.calls ?? []) {
    const lines = [whose, `${toolName(name)} ${args}`, 'its result, JSON or text; /declined if you do not run it'];
    let text: string | undefined = '';
    while (text === '') text = (await ask(lines))?.trim();
    if (text === undefined) return undefined;
    results.push(
      text === '/declined'
        ? { tool_call_id, status: 'declined' }
        : { tool_call_id, status: 'success', output: valueOf(text) },
    );
  }
  return { kind: 'external_tools', results };
}
