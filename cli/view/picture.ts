/**
 * A run as a picture: what is settled, in order, and what may still change. Pure, so that a terminal can print the
 * first for good and redraw the second.
 *
 * P1  An item is settled by a durable event only; what a live event brought can be retracted without a trace.
 * P2  Settled items leave the picture in order: one that is open holds back those after it.
 * P3  The text of a settled item is that of its closing event, whatever was heard of it live.
 */
import type { StreamEvent } from '../../client/index.js';
import type { EventOf } from '../../contract/events.js';
import { line } from '../format.js';
import { isWithin } from '../open-pauses.js';
import { countOf, fileOf, goalLine } from './tell.js';

interface Block {
  kind: 'thinking' | 'text' | 'input';
  id: string;
  step: string;
  attempt: number;
  open: boolean;
  text: string;
  /** The tool whose arguments are being written. */
  name?: string;
  interrupted?: boolean;
}

interface ToolItem {
  kind: 'tool';
  id: string;
  open: boolean;
  name: string;
  arguments: string;
  started?: number;
  /** What it said last. */
  progress?: string;
  duration_ms?: number;
  attempts?: number;
  failure?: { kind: string; message: string };
}

interface Note {
  kind: 'note';
  open: false;
  tone: 'quiet' | 'loud';
  text: string;
}

export type Item = Block | ToolItem | Note;

export interface Picture {
  apply(event: StreamEvent): void;
  /** Settled since the last time. */
  takeSettled(): Item[];
  live(): readonly Item[];
  phase(): string;
}

export function createPicture(now: () => number): Picture {
  let items: Item[] = [];
  let phase = 'waiting for a worker';
  /** step_id → the highest attempt whose retraction was told. */
  const told = new Map<string, number>();

  return {
    apply,
    takeSettled() {
      const open = items.findIndex((item) => item.open);
      const settled = open === -1 ? items : items.slice(0, open);
      items = items.slice(settled.length);
      return settled;
    },
    live: () => items,
    phase: () => phase,
  };

  function apply(event: StreamEvent): void {
    switch (event.type) {
      case 'run_phase_changed':
        phase = event.phase;
        return;
      case 'thinking_start':
      case 'thinking_chunk':
      case 'text_start':
      case 'text_chunk':
      case 'summary_start':
      case 'summary_chunk': {
        const kind = event.type.startsWith('thinking') ? 'thinking' : 'text';
        const block = blockOf(kind, event.block_id, event.step_id, event.attempt);
        if (block.open && block.attempt === event.attempt && 'text' in event) block.text += event.text;
        return;
      }
      case 'tool_input_chunk': {
        const block = blockOf('input', event.block_id, event.step_id, event.attempt);
        block.name = event.name;
        block.text += event.text;
        return;
      }
      case 'thinking_end':
        return settle('thinking', event);
      case 'text_end':
        return settle('text', { ...event, text: event.text || (event.refusal ?? '') });
      case 'summary_final':
        // Without a block it repeats the text that ended the last step.
        if (event.block_id !== undefined)
          settle('text', { ...event, block_id: event.block_id, attempt: event.attempt ?? 1 });
        return;
      case 'attempt_retracted':
        return retract(event.step_id ?? '', event.attempt, !('seq' in event));
      case 'tool_requested':
        drop((item) => item.kind === 'input' && item.step === event.step_id);
        items.push({
          kind: 'tool',
          id: event.tool_call_id ?? '',
          open: true,
          name: event.name,
          arguments: event.arguments,
        });
        return;
      case 'tool_scheduled':
        return change(event.tool_call_id, { started: now() });
      case 'tool_progress':
        return change(event.tool_call_id, { progress: progressText(event) });
      case 'tool_output_chunk':
        return change(event.tool_call_id, { progress: lastLine(event.text) });
      case 'tool_retry':
        return change(event.tool_call_id, { progress: `attempt ${event.attempt}: ${line(event.reason)}` });
      case 'tool_result':
        return change(event.tool_call_id, closed(event));
      case 'agent_run_started':
        return change(event.tool_call_id, { started: now(), progress: `run ${event.link.run_id}` });
      case 'child_await_changed':
        return changeChild(event.link.run_id, event.state === 'open' ? ` waits: ${event.await_id}` : '');
      case 'await_approval':
        return change(event.tool_call_id, { progress: 'waits for approval' });
      case 'await_clarification':
        return change(event.tool_call_id, { progress: 'waits for an answer' });
      case 'await_external_tools':
        for (const call of event.calls) change(call.tool_call_id, { progress: 'waits for your result' });
        return;
      case 'notice_posted':
        items.push({ kind: 'note', open: false, tone: 'loud', text: event.text });
        return;
      case 'file_generated':
        items.push({ kind: 'note', open: false, tone: 'loud', text: fileOf(event) });
        return;
      case 'budget_exceeded':
        items.push({ kind: 'note', open: false, tone: 'loud', text: countOf(event) });
        return;
      case 'goal_declared':
      case 'goal_achieved':
      case 'reprompted':
        return note(goalLine(event));
      case 'goal_failed':
        items.push({ kind: 'note', open: false, tone: 'loud', text: goalLine(event) });
        return;
      case 'run_completed':
      case 'stream_ended':
        // Nothing will close it any more.
        drop((item) => item.open);
        return;
      default:
        return;
    }
  }

  function blockOf(kind: Block['kind'], id: string, step: string | undefined, attempt: number): Block {
    const known = items.find((item): item is Block => isBlock(item) && item.id === id);
    if (known !== undefined && known.attempt >= attempt) return known;
    // A later attempt at the same block, whose retraction got lost on the way.
    if (known !== undefined) items = items.filter((item) => item !== known);
    const block: Block = { kind, id, step: step ?? '', attempt, open: true, text: '' };
    items.push(block);
    return block;
  }

  function settle(
    kind: 'thinking' | 'text',
    event: {
      block_id: string;
      step_id?: string | undefined;
      attempt: number;
      text: string;
      interrupted?: boolean | undefined;
    },
  ): void {
    const block = blockOf(kind, event.block_id, event.step_id, event.attempt);
    block.text = event.text;
    block.open = false;
    if (event.interrupted) block.interrupted = true;
  }

  function retract(step: string, attempt: number, isLive: boolean): void {
    const removed = drop((item) => isBlock(item) && item.open && item.step === step && item.attempt <= attempt);
    const known = told.get(step) ?? 0;
    if (attempt <= known) return;
    told.set(step, attempt);
    if (isLive) note(`attempt ${attempt} broke off, what it wrote is retracted: the model tries again`);
    else if (removed > 0) note('what the model had begun to write is retracted');
  }

  function note(text: string): void {
    items.push({ kind: 'note', open: false, tone: 'quiet', text });
  }

  function change(id: string | undefined, fields: Partial<ToolItem>): void {
    const tool = items.find((item): item is ToolItem => item.kind === 'tool' && item.id === id);
    if (tool !== undefined) Object.assign(tool, fields);
  }

  /** The tool whose child, or whose child's descendant, the run is. */
  function changeChild(runId: string, what: string): void {
    for (const item of items) {
      const own = item.kind === 'tool' ? (/^run (\S+)/.exec(item.progress ?? '')?.[1] ?? '') : '';
      if (item.kind === 'tool' && own !== '' && isWithin(runId, own)) item.progress = `run ${own}${what}`;
    }
  }

  function drop(isGone: (item: Item) => boolean): number {
    const before = items.length;
    items = items.filter((item) => !isGone(item));
    return before - items.length;
  }
}

const isBlock = (item: Item): item is Block =>
  item.kind === 'thinking' || item.kind === 'text' || item.kind === 'input';

function closed(event: EventOf<'tool_result'>): Partial<ToolItem> {
  const { duration_ms, attempts } = event;
  return { open: false, duration_ms, attempts, ...(event.status === 'error' ? { failure: event.failure } : {}) };
}

function progressText({ message, fraction }: { message: string; fraction?: number | undefined }): string {
  return fraction === undefined ? line(message) : `${line(message)} ${Math.round(fraction * 100)} %`;
}

function lastLine(text: string): string {
  return line(text.trimEnd().split('\n').at(-1) ?? '');
}
