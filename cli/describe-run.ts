/** A run's snapshot as a person reads it. */
import type { StreamMarker } from '../contract/live-events.js';
import type { RunSnapshot, StepSnapshot, ToolSnapshot } from '../contract/snapshot.js';
import { describePause } from './describe-pause.js';
import { duration, line, usage } from './format.js';
import type { Pause } from './open-pauses.js';
import type { Styles } from './terminal.js';
import { printable } from './text-width.js';
import { cancelReason, gistOf } from './view/tell.js';

/** `pauses` are its own and those of its descendants; `flags` find the server again. */
export function describeRun(
  snapshot: RunSnapshot & { engine_end?: StreamMarker },
  pauses: readonly Pause[],
  styles: Styles,
  flags: string,
): string {
  const { run, status, phase, started_at, duration_ms, tail, engine_end } = snapshot;
  const { bold, dim } = styles;
  const took = duration_ms === undefined ? '' : `, took ${duration(duration_ms)}`;
  const state = engine_end?.type === 'stream_ended' ? engine_end.reason : status;
  const lines = [
    `${bold(run.agent_id)}  ${run.run_id}`,
    '',
    `${dim('status ')}  ${mark(state, styles)} ${state}, phase ${phase}`,
    `${dim('started')}  ${started_at}${took}`,
    ...(run.parent_run_id === undefined ? [] : [`${dim('parent ')}  ${run.parent_run_id}`]),
    ...(run.thread_id === undefined ? [] : [`${dim('thread ')}  ${run.thread_id}`]),
    ...(run.root_run_id === run.run_id || run.root_run_id === run.parent_run_id
      ? []
      : [`${dim('root   ')}  ${run.root_run_id}`]),
    `${dim('usage  ')}  ${usage(snapshot.usage)}`,
    ...(snapshot.children.length === 0 || snapshot.tree_usage === undefined
      ? []
      : [`${dim('tree   ')}  ${usage(snapshot.tree_usage)}`]),
    `${dim('log    ')}  ${tail} events`,
    ...(snapshot.steps.length === 0
      ? []
      : ['', ...snapshot.steps.flatMap((step) => describeStep(step, snapshot, styles))]),
  ];
  for (const pause of pauses) {
    const [whose = '', ...rest] = describePause(pause, pauses, flags);
    lines.push('', `${styles.yellow('waits for')} ${whose}`, ...rest.map(printable));
  }
  if (engine_end !== undefined) lines.push('', styles.red(gistOf(engine_end)));
  if (snapshot.failure !== undefined) {
    const { code, debug_message } = snapshot.failure;
    lines.push('', styles.red(printable(`${code}: ${debug_message}`)));
  }
  if (snapshot.cancellation !== undefined)
    lines.push('', styles.yellow(printable(cancelReason(snapshot.cancellation))));
  if (snapshot.answer !== undefined) lines.push('', printable(snapshot.answer));
  return lines.join('\n');
}

function describeStep(step: StepSnapshot, { children }: RunSnapshot, styles: Styles): string[] {
  const took = step.duration_ms === undefined ? 'open' : duration(step.duration_ms);
  const failed = step.status === 'error' ? ` ${styles.red('error')}` : '';
  const text = step.tools.length > 0 && step.text ? [`    ${styles.dim(line(printable(step.text)))}`] : [];
  const title = step.title === `Step ${step.step_number}` ? '' : `  ${step.title}`;
  const head = `${styles.dim('step')} ${step.step_number}${title}  ${styles.dim(took)}${failed}`;
  const tools = step.tools.flatMap((tool) => [
    `    ${describeTool(tool, styles)}`,
    ...children
      .filter((child) => child.tool_call_id === tool.tool_call_id)
      .map((child) => `      ${styles.dim('run')} ${child.run_id}  ${styles.dim(child.agent_id)}`),
  ]);
  return [head, ...text, ...tools];
}

function describeTool(tool: ToolSnapshot, styles: Styles): string {
  const facts = [
    ...(tool.duration_ms === undefined ? [tool.state] : [duration(tool.duration_ms)]),
    ...((tool.attempts ?? 1) > 1 ? [`${tool.attempts} attempts`] : []),
  ].join(', ');
  const failure = tool.failure_kind === undefined ? '' : ` ${styles.red(tool.failure_kind)}`;
  const call = line(printable(`${tool.name} ${tool.arguments}`), 80);
  return `${mark(tool.state, styles)} ${call}${failure}  ${styles.dim(facts)}`;
}

function mark(state: string, { green, red, yellow }: Styles): string {
  if (state === 'success') return green('✓');
  if (state === 'canceled') return yellow('■');
  return state === 'running' || state === 'requested' || state === 'scheduled' ? '…' : red('✗');
}
