/** A pause as a person reads it, and the command that answers it. */
import { toolName } from '../contract/ids.js';
import { renderArguments } from '../contract/render-call.js';
import { approvalPages, approvalQuestion, canAsk, terminalRoom } from './approval-pages.js';
import { commandName } from './command-name.js';
import { duration } from './format.js';
import { isWithin } from './open-pauses.js';
import type { Pause } from './open-pauses.js';
import { quoted } from './repeat-flags.js';

/** What is asked: one line, or one for each call; where it is for leave, the tool comes last. */
export function questionLines(pause: Pause): string[] {
  const calls = pause.calls ?? [];
  if (pause.kind === 'clarification') return [pause.question ?? ''];
  if (pause.kind === 'approval')
    return [...calls.map(({ arguments: args }) => renderArguments(args)), approvalQuestion(pause)];
  return calls.map(
    ({ tool_call_id, name, arguments: args }) => `give the result of ${toolName(name)} ${args} (${tool_call_id})`,
  );
}

export function choiceLines({ choices = [] }: Pause): string[] {
  return choices.map((choice, index) => `${index + 1}) ${choice}`);
}

export function expiry({ expires_at }: Pause, now = Date.now()): string | undefined {
  if (expires_at === undefined) return undefined;
  return `expires in ${duration(Math.max(0, Date.parse(expires_at) - now))}`;
}

/** `all` tells whether the pause must be named; `flags` find the server. */
export function answerCommand(pause: Pause, all: readonly Pause[], flags: string): string {
  const rivals = all.filter((other) => other.kind === pause.kind && isWithin(other.run_id, pause.run_id));
  // Whoever approves must mean this one, whatever else waits by then.
  const isNamed = rivals.length > 1 || pause.kind === 'approval';
  const which = isNamed ? ` --await ${pause.await_id}` : '';
  return `${commandName()} answer ${quoted(pause.run_id)}${which} ${answerOf(pause)}${flags}`;
}

/** The pause whole, for a list: whose it is, what is asked, what to type. */
export function describePause(pause: Pause, all: readonly Pause[], flags: string): string[] {
  const { agent_id, run_id, await_id } = pause;
  const until = expiry(pause);
  return [
    `${agent_id}  ${run_id}  ${await_id}${until === undefined ? '' : `, ${until}`}`,
    ...[...questionLines(pause), ...choiceLines(pause)].map((line) => `  ${line}`),
    `  ${answerCommand(pause, all, flags)}`,
  ];
}

function answerOf(pause: Pause): string {
  const { kind, choices, calls = [], digest = '' } = pause;
  switch (kind) {
    case 'clarification':
      return `"${choices?.[0] ?? '…'}"`;
    case 'approval':
      // What a terminal cannot show at once is shown there page by page, before it is decided.
      if (canAsk() && approvalPages(pause, terminalRoom()).length > 1) return '--approve';
      return `--approve ${digest.slice(0, 8)}`.trimEnd();
    case 'external_tools':
      return calls.map((call) => `--result ${call.tool_call_id}='…'`).join(' ');
  }
}
