/** A line for each time that a run starts, waits, goes on or ends: for whoever watches the worker. */
import type { Milestone } from '../worker/milestones.js';
import { commandName } from './command-name.js';
import { count, duration, line, localTime, withoutStack } from './format.js';
import type { Notices } from './notices.js';
import { quoted } from './repeat-flags.js';
import { cancelReason, gistOf } from './view/tell.js';

const LONGEST_WORD = 'canceled'.length;

export function tellMilestone(milestone: Milestone, notices: Pick<Notices, 'lasting' | 'print' | 'loud'>): void {
  const { type } = milestone;
  const isBad = type === 'run_completed' && milestone.status === 'failed';
  const isAsking = type.startsWith('await_') && type !== 'await_resolved';
  const tone = isBad ? 'loud' : isAsking ? 'print' : 'lasting';
  notices[tone](describeMilestone(milestone));
}

function describeMilestone(milestone: Milestone): string {
  const { at, run_id } = milestone;
  const [word, said] = wordsOf(milestone);
  const time = localTime(at).split(' ')[1];
  return `${time}  ${word.padEnd(LONGEST_WORD)}  ${run_id}  ${said}`.trimEnd();
}

function wordsOf(milestone: Milestone): [word: string, said: string] {
  const { run_id } = milestone;
  const answer = `  (${commandName()} answer ${quoted(run_id)})`;
  switch (milestone.type) {
    case 'run_started':
      return ['started', `${milestone.agent_id}: ${gistOf(milestone)}`];
    case 'await_clarification':
      return ['waits', `for an answer: ${line(milestone.question)}${answer}`];
    case 'await_approval':
      return ['waits', `for approval of ${line(`${milestone.name} ${milestone.arguments}`)}${answer}`];
    case 'await_external_tools':
      return ['waits', `for the result of ${milestone.calls.map(({ name }) => name).join(', ')}${answer}`];
    case 'await_resolved': {
      const { resolution, answered_by, note } = milestone;
      const by = answered_by === undefined ? '' : ` by ${answered_by}`;
      return ['goes on', `${resolution}${by}${note === undefined ? '' : `: ${line(note)}`}`];
    }
    case 'run_completed':
      return endOf(milestone);
  }
}

function endOf(end: Extract<Milestone, { type: 'run_completed' }>): [word: string, said: string] {
  switch (end.status) {
    case 'success': {
      const { model_calls, tool_calls } = end.usage;
      const calls = [count(model_calls, 'model call'), count(tool_calls, 'tool call')].join(', ');
      return ['ended', `after ${duration(end.duration_ms)}: ${calls}`];
    }
    case 'failed':
      return ['failed', `${end.failure.code}: ${line(withoutStack(end.failure.debug_message), 300)}`];
    case 'canceled':
      return ['canceled', cancelReason(end.cancellation).replace(/^canceled: /, '')];
  }
}
