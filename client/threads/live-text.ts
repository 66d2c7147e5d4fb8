/** The text of the blocks that are open in a run: laid over its log, it is what the model has said so far. */
import type { StreamEvent } from '../../contract/live-events.js';

export interface LiveText {
  take(event: StreamEvent): void;
  text(): string;
}

interface Block {
  step_id: string | undefined;
  attempt: number;
  text: string;
}

export function createLiveText(): LiveText {
  const blocks = new Map<string, Block>();
  /** Their text is in the log, or will be: what is still told of these is late, or has gaps. */
  const over = new Set<string>();
  const overSteps = new Set<string>();

  return {
    take(event) {
      if (event.type === 'text_chunk' || event.type === 'summary_chunk') {
        const { block_id, step_id, attempt, text } = event;
        const known = blocks.get(block_id);
        if (over.has(block_id) || overSteps.has(step_id ?? '') || attempt < (known?.attempt ?? 0)) return;
        const before = known?.attempt === attempt ? known.text : '';
        blocks.set(block_id, { step_id, attempt, text: before + text });
      } else if (event.type === 'attempt_retracted') {
        for (const [id, block] of blocks) {
          if (block.step_id === event.step_id && block.attempt <= event.attempt) blocks.delete(id);
        }
      } else if (event.type === 'text_end' || (event.type === 'summary_final' && event.block_id !== undefined)) {
        close(event.block_id ?? '');
      } else if (event.type === 'step_completed') {
        overSteps.add(event.step_id ?? '');
        for (const [id, block] of blocks) if (block.step_id === event.step_id) close(id);
      } else if (event.type === 'live_dropped') {
        for (const id of blocks.keys()) close(id);
      }
    },
    text: () => [...blocks.values()].map((block) => block.text).join(''),
  };

  function close(blockId: string): void {
    over.add(blockId);
    blocks.delete(blockId);
  }
}
