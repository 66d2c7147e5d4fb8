/** A run's snapshot as a person reads it. */
import type { StreamMarker } from '../contract/live-events.js';
import type { RunSnapshot, StepSnapshot, ToolSnapshot } from '../contract/snapshot.js';
import { contentText } from './call-outputs.js';
import type { CallOutput } from './call-outputs.js';
import { commandName } from './command-name.js';
import { describePause } from './describe-pause.js';
import { duration, line, usage, withoutStack } from './format.js';
import type { Pause } from './open-pauses.js';
import { drawMarkdown } from './markdown/draw-markdown.js';
import { quoted } from './repeat-flags.js';
import type { Styles } from './terminal.js';
import { hang, printable, textWidth } from './text-width.js';
import { cancelReason, gistOf } from './view/tell.js';

export interface RunDescription {
  snapshot: RunSnapshot & { engine_end?: StreamMarker };
  /** Its own and those of its descendants. */
  pauses: readonly Pause[];
  /** What came of its calls, by their id, where that is to be shown. */
  outputs?: ReadonlyMap<string, CallOutput>;
  styles: Styles;
  /** Lines are broken there; infinite where nobody reads them on a screen. */
  width: number;
  /** With which another command finds the server. */
  flags: string;
  /** The answer is drawn, and not only written. */
  markdown: boolean;
}

/** Of an output, so many lines; one call alone is shown in full. */
const OUTPUT_LINES = 12;

export function describeRun(description: RunDescription): string {
  const { snapshot, pauses, styles, width, flags } = description;
  const { run, status, phase, started_at, duration_ms, tail, engine_end } = snapshot;
  const took = duration_ms === undefined ? '' : `, took ${duration(duration_ms)}`;
  const state = engine_end?.type === 'stream_ended' ? engine_end.reason : status;
  const fact = (label: string, text: string) => hang(`${styles.dim(label.padEnd(7))}  `, printable(text), width);
  const text = (value: string, style?: (line: string) => string) => ['', ...hang('', printable(value), width, style)];
  const isBelow = run.root_run_id !== run.run_id && run.root_run_id !== run.parent_run_id;
  const lines = [
    `${styles.bold(printable(run.agent_id))}  ${printable(run.run_id)}`,
    '',
    ...hang(`${styles.dim('status ')}  ${mark(state, styles)} `, `${state}, phase ${phase}`, width),
    ...fact('started', `${started_at}${took}`),
    ...(run.parent_run_id === undefined ? [] : fact('parent', run.parent_run_id)),
    ...(run.thread_id === undefined ? [] : fact('thread', run.thread_id)),
    ...(isBelow ? fact('root', run.root_run_id) : []),
    ...fact('usage', usage(snapshot.usage)),
    ...(snapshot.children.length === 0 || snapshot.tree_usage === undefined
      ? []
      : fact('tree', usage(snapshot.tree_usage))),
    ...fact('log', `${tail} events`),
    ...(snapshot.steps.length === 0 ? [] : ['', ...snapshot.steps.flatMap((step) => describeStep(step, description))]),
  ];
  for (const pause of pauses) {
    const [whose = '', ...rest] = describePause(pause, pauses, flags);
    lines.push('', ...hang(`${styles.yellow('waits for')} `, printable(whose), width));
    for (const line of rest) lines.push(...hang('  ', printable(line.trimStart()), width));
  }
  if (engine_end !== undefined) lines.push(...text(gistOf(engine_end), styles.red));
  if (snapshot.failure !== undefined) {
    const { code, debug_message } = snapshot.failure;
    lines.push(...text(`${code}: ${withoutStack(debug_message)}`, styles.red));
  }
  if (snapshot.cancellation !== undefined) lines.push(...text(cancelReason(snapshot.cancellation), styles.yellow));
  if (snapshot.answer !== undefined) {
    const answer = snapshot.answer;
    lines.push(...(description.markdown ? ['', ...drawMarkdown(printable(answer), { width, styles })] : text(answer)));
  }
  return lines.join('\n');
}

function describeStep(step: StepSnapshot, description: RunDescription): string[] {
  const { styles, width, snapshot, outputs } = description;
  const took = step.duration_ms === undefined ? 'open' : duration(step.duration_ms);
  const failed = step.status === 'error' ? ` ${styles.red('error')}` : '';
  const said = step.tools.length > 0 ? (step.text ?? '').trim() : '';
  const title = step.title === `Step ${step.step_number}` ? '' : `  ${printable(step.title)}`;
  const head = `${styles.dim('step')} ${step.step_number}${title}  ${styles.dim(took)}${failed}`;
  const tools = step.tools.flatMap((tool) => [
    ...describeTool(tool, styles, width),
    ...snapshot.children
      .filter((child) => child.tool_call_id === tool.tool_call_id)
      .map((child) => `      ${styles.dim('run')} ${child.run_id}  ${styles.dim(child.agent_id)}`),
    ...describeOutput(outputs?.get(tool.tool_call_id), description),
  ]);
  return [head, ...(said === '' ? [] : hang('    ', printable(said), width, styles.dim)), ...tools];
}

function describeTool(tool: ToolSnapshot, styles: Styles, width: number): string[] {
  const facts = [
    ...(tool.duration_ms === undefined ? [tool.state] : [duration(tool.duration_ms)]),
    ...((tool.attempts ?? 1) > 1 ? [`${tool.attempts} attempts`] : []),
  ].join(', ');
  const failure = tool.failure_kind === undefined ? '' : ` ${tool.failure_kind}`;
  const name = printable(tool.name);
  // Its arguments are cut to what the line has room for; the call alone has them all.
  const room = Math.min(80, width - 6 - textWidth(failure) - 2 - textWidth(facts) - textWidth(name) - 1);
  const call = room < 8 ? name : `${name} ${line(printable(tool.arguments), room)}`;
  return [`    ${mark(tool.state, styles)} ${call}${styles.red(failure)}  ${styles.dim(facts)}`];
}

function describeOutput(call: CallOutput | undefined, { styles, width, snapshot, flags }: RunDescription): string[] {
  if (call?.result === undefined) return [];
  const lines = hang('      ', printable(contentText(call.result.content)).trimEnd(), width, styles.dim);
  const isWhole = lines.length <= OUTPUT_LINES && call.result.output_ref === undefined;
  if (isWhole) return lines;
  const command = `${commandName()} inspect ${quoted(snapshot.run.run_id)} --tool ${call.tool_call_id}${flags}`;
  return [...lines.slice(0, OUTPUT_LINES), ...hang('      … all of it: ', command, width)];
}

function mark(state: string, { green, red, yellow }: Styles): string {
  if (state === 'success') return green('✓');
  if (state === 'canceled') return yellow('■');
  return state === 'running' || state === 'requested' || state === 'scheduled' ? '…' : red('✗');
}
