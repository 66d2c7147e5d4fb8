/** From a piece of a model's stream to the live events that readers see. */
import type { CallModelInput } from '../contract/activities.js';
import { blockId } from '../contract/ids.js';
import type { ModelStreamPart } from '../contract/model-provider.js';
import type { BlockDelta } from '../providers/index.js';
import type { LiveLine } from './live-line.js';

type ToolCallPart = Extract<ModelStreamPart, { type: 'tool_call' }>;

/** `delta` says which block of the completion the piece belongs to. */
export type PartPublisher = (part: ModelStreamPart, delta: BlockDelta | undefined) => void;

export function createPartPublisher(live: LiveLine, input: CallModelInput, attempt: number): PartPublisher {
  const summaryBlock = `${input.step_id}.summary`;
  const names = new Map<number, string>();
  const chunks = new Map<string, number>();

  return (part, delta) => {
    if (part.type === 'tool_call') toolInput(part);
    else if (delta !== undefined && (part.type === 'text' || part.type === 'reasoning')) text(part.delta, delta);
  };

  function text(piece: string, delta: BlockDelta): void {
    // A synthesis pass has one block of text, whatever reasoning comes between.
    const summary = input.pass === 'synthesis' && delta.kind === 'text';
    const kind = summary ? 'summary' : delta.kind;
    const block_id = summary ? summaryBlock : blockId(input.step_id, delta.n);
    const index = next(block_id);
    if (index === 0)
      live.publish({ type: `${kind}_start`, live_id: `${block_id}#${attempt}.start`, block_id, attempt });
    live.publish({
      type: `${kind}_chunk`,
      live_id: `${block_id}#${attempt}.${index}`,
      block_id,
      attempt,
      index,
      text: piece,
    });
  }

  function toolInput(part: ToolCallPart): void {
    const name = names.get(part.index) ?? part.name ?? '';
    names.set(part.index, name);
    if (!part.arguments_delta || input.pass === 'synthesis') return;
    const block_id = `${input.step_id}.input_${part.index + 1}`;
    const index = next(block_id);
    const live_id = `${block_id}#${attempt}.${index}`;
    live.publish({ type: 'tool_input_chunk', live_id, block_id, attempt, index, name, text: part.arguments_delta });
  }

  function next(block: string): number {
    const index = chunks.get(block) ?? 0;
    chunks.set(block, index + 1);
    return index;
  }
}
