/** A call's side of the durable state: what it was given to read, and the changes that it asks for. */
import type { CallToolInput } from '../contract/activities.js';
import { idempotencyKey } from '../contract/ids.js';
import type { StateCell, StateChange } from '../contract/tool-state.js';
import type { ToolState } from '../kit/define-tool.js';

export function createToolState(input: CallToolInput): ToolState & { readonly changes: StateChange[] } {
  const changes: StateChange[] = [];
  const entries = ({ scope, name }: StateCell) => {
    const known = input.state?.[scope][name];
    if (known !== undefined) return known;
    throw new Error(`${input.tool_id} looks at the state "${name}" (${scope}) without naming it in \`reads\``);
  };
  return {
    changes,
    entries,
    value: (cell, key) => entries(cell).find((entry) => entry.key === key)?.value,
    set: (cell, key, value) => void changes.push({ op: 'set', cell, key, value }),
    append(cell, value, limit) {
      // The same in every attempt, and unlike that of any other call in the tree or the thread.
      const key = `${idempotencyKey(input.run.run_id, input.tool_call_id)}.${changes.length}`;
      changes.push({ op: 'append', cell, key, value, ...limit });
    },
    increment: (cell, key, limit) => void changes.push({ op: 'increment', cell, key, ...limit }),
    replace: (cell, index, value, limit) => void changes.push({ op: 'replace', cell, index, value, ...limit }),
    clear: (cell) => void changes.push({ op: 'clear', cell }),
  };
}
