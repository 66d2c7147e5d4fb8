/** What a person sees of a thread in the Temporal UI: search attributes and the current details. */
import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import type { SearchAttributeName } from '../../contract/names.js';
import { statusInWords } from '../../contract/thread-status.js';
import { code, plain } from '../../contract/ui-markdown.js';
import type { Thread } from './thread-state.js';

export interface ThreadPageView {
  /** Called before each wait: one upsert per workflow task at most, and none where nothing changed. */
  show(): void;
}

export function createThreadPageView(thread: Thread): ThreadPageView {
  const shown = new Map<SearchAttributeName, string>();
  return {
    show() {
      setCurrentDetails(details(thread));
      const allowed = thread.opened?.search_attributes ?? [];
      const { agent_id, org_id, created_by } = thread.opened?.request ?? {};
      const wanted: [SearchAttributeName, string | undefined][] = [
        ['PerdureThreadId', thread.thread_id],
        ['PerdureThreadStatus', thread.deleted ? 'deleted' : thread.status],
        ['PerdureAgentId', agent_id],
        ['PerdureOrgId', org_id],
        ['PerdureCreatedBy', created_by],
      ];
      const changed = wanted.filter(
        (entry): entry is [SearchAttributeName, string] =>
          entry[1] !== undefined && allowed.includes(entry[0]) && shown.get(entry[0]) !== entry[1],
      );
      if (changed.length === 0) return;
      for (const [name, value] of changed) shown.set(name, value);
      upsertSearchAttributes(changed.map(([name, value]) => ({ key: { name, type: 'KEYWORD' }, value })));
    },
  };
}

function details(thread: Thread): string {
  const { thread_id, messages, goals, turn, queue, pending, pauses } = thread;
  const lines = [
    `### ${thread.deleted ? 'Deleted thread' : `${plain(thread.title ?? 'Thread')}: ${statusInWords(thread)}`}`,
    '',
    `- thread ${code(thread_id)}, ${messages.length} messages, ${thread.turns} turns, ${queue.length} waiting`,
    ...(turn === undefined ? [] : [`- turn ${turn.number}: run ${code(turn.run_id)}`]),
    ...pending.map((use) => `- **waits** for the client’s result of ${code(use.tool_use_id)}`),
    ...pauses.map((pause) => `- **waits** ${code(pause.await_id)} (${pause.kind}) of run ${code(pause.run_id)}`),
    ...goals
      .filter((goal) => goal.turn === thread.turns)
      .map((goal) => `- goal ${plain(goal.goal_type)}: ${goal.status}`),
  ];
  return [...lines, '', '\u00a0'].join('\n');
}
