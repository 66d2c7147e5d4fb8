/** From a piece of a model's stream to the live events that readers see. */
import type { CallModelInput } from '../contract/activities.js';
import type { AgentSpec } from '../contract/agent-spec.js';
import { blockId } from '../contract/ids.js';
import type { ModelStreamPart } from '../contract/model-provider.js';
import type { BlockDelta } from '../providers/index.js';
import type { LiveLine } from './live-line.js';

type ToolCallPart = Extract<ModelStreamPart, { type: 'tool_call' }>;

/** `delta` says which block of the completion the piece belongs to. */
export type PartPublisher = (part: ModelStreamPart, delta: BlockDelta | undefined) => void;

export function createPartPublisher(
  live: LiveLine,
  input: CallModelInput,
  { tools, denied_tools = [] }: AgentSpec,
  attempt: number,
): PartPublisher {
  const toolIds = new Set([...tools.map(({ tool_id }) => tool_id), ...denied_tools]);
  const summaryBlock = `${input.step_id}.summary`;
  const names = new Map<number, string>();
  const told = new Map<string, { chunks: number; length: number }>();

  return (part, delta) => {
    if (part.type === 'tool_call') toolInput(part);
    else if (delta !== undefined && 'delta' in part) text(part.delta, delta);
  };

  function text(piece: string, delta: BlockDelta): void {
    // A synthesis pass has one block of text, whatever reasoning comes between.
    const summary = input.pass === 'synthesis' && delta.kind === 'text';
    const kind = summary ? 'summary' : delta.kind;
    const block_id = summary ? summaryBlock : blockId(input.step_id, delta.n);
    const { index, offset } = next(block_id, piece);
    if (index === 0)
      live.publish({ type: `${kind}_start`, live_id: `${block_id}#${attempt}.start`, block_id, attempt });
    live.publish({
      type: `${kind}_chunk`,
      live_id: `${block_id}#${attempt}.${index}`,
      block_id,
      attempt,
      index,
      offset,
      text: piece,
    });
  }

  function toolInput(part: ToolCallPart): void {
    const name = names.get(part.index) ?? part.name ?? '';
    names.set(part.index, name);
    if (!part.arguments_delta || input.pass === 'synthesis') return;
    const block_id = `${input.step_id}.input_${part.index + 1}`;
    const { arguments_delta: piece } = part;
    const { index, offset } = next(block_id, piece);
    const live_id = `${block_id}#${attempt}.${index}`;
    const of = { name, ...(toolIds.has(name) ? { tool_id: name } : {}) };
    live.publish({ type: 'tool_input_chunk', live_id, block_id, attempt, index, offset, ...of, text: piece });
  }

  /** The place of the next chunk of a block. */
  function next(block: string, piece: string): { index: number; offset: number } {
    const { chunks, length } = told.get(block) ?? { chunks: 0, length: 0 };
    told.set(block, { chunks: chunks + 1, length: length + piece.length });
    return { index: chunks, offset: length };
  }
}
