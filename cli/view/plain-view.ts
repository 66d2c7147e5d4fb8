/**
 * A run on a pipe or in a log: what is written stays, so lines are only ever added. Text is written as it comes;
 * when it turns out to be void the view says so and begins again.
 */
import type { StreamEvent } from '../../client/index.js';
import { createControlsFilter, withoutControls } from '../control-sequences.js';
import type { ControlsFilter } from '../control-sequences.js';
import { duration, line } from '../format.js';
import type { Output } from '../own-output.js';
import type { RunView } from './run-view.js';
import { countOf, fileOf, goalLine } from './tell.js';

interface OpenBlock {
  id: string;
  attempt: number;
  step: string;
  /** As it came. */
  written: string;
  filter: ControlsFilter;
}

export function createPlainView(out: Pick<Output, 'write'>, errors: Pick<Output, 'write'>): RunView {
  /** The block whose text is at the end of the output, mid-line perhaps. */
  let current: OpenBlock | undefined;
  const written = new Map<string, OpenBlock>();
  const told = new Set<string>();
  const retracted = new Map<string, number>();

  return {
    event,
    note: (text) => void errors.write(`${withoutControls(text)}\n`),
    hint: (text) => void errors.write(`${withoutControls(text)}\n`),
    prompt: () => {},
    end(summary) {
      breakLine();
      if (summary?.reason !== undefined) say(summary.reason);
      if (summary !== undefined) out.write(`\n${withoutControls(summary.text)}\n`);
    },
  };

  function event(event: StreamEvent): void {
    switch (event.type) {
      case 'thinking_chunk':
      case 'text_chunk':
      case 'summary_chunk':
        write(event.type === 'thinking_chunk', event.block_id, event.step_id, event.attempt, event.text);
        return;
      case 'thinking_end':
      case 'text_end':
        return close(event.type === 'thinking_end', event.block_id, event.step_id, event.attempt, event.text);
      case 'summary_final':
        if (event.block_id !== undefined) close(false, event.block_id, event.step_id, event.attempt ?? 1, event.text);
        return;
      case 'attempt_retracted':
        return retract(event.step_id ?? '', event.attempt);
      case 'tool_requested':
        return say(`tool: ${event.name} ${line(event.arguments)}`);
      case 'tool_progress':
        // The durable twin of a live note has its `live_id`.
        if (!told.has(event.live_id)) say(`tool: ${event.tool_id ?? ''}: ${line(event.message)}`);
        told.add(event.live_id);
        return;
      case 'tool_retry':
        if (!told.has(event.live_id))
          say(`tool: ${event.tool_id ?? ''}: attempt ${event.attempt} after ${line(event.reason)}`);
        told.add(event.live_id);
        return;
      case 'tool_result': {
        const took = duration(event.duration_ms);
        if (event.status === 'success') say(`tool: ${event.name} done in ${took}`);
        else say(`tool: ${event.name} failed in ${took}: ${event.failure.kind}: ${line(event.failure.message, 200)}`);
        return;
      }
      case 'agent_run_started':
        return say(`tool: ${event.tool_id ?? ''}: run ${event.link.run_id}`);
      case 'await_resolved':
        return say(`${event.await_id}: ${event.resolution}`);
      case 'file_generated':
        return say(fileOf(event));
      case 'notice_posted':
        return say(event.text);
      case 'budget_exceeded':
        return say(countOf(event));
      case 'goal_declared':
      case 'goal_achieved':
      case 'goal_failed':
      case 'reprompted':
        return say(goalLine(event));
      case 'live_dropped':
        return;
      case 'stream_ended':
        return say(event.message);
      default:
        return;
    }
  }

  function write(thinking: boolean, id: string, step: string | undefined, attempt: number, text: string): void {
    const block = written.get(id);
    if (block !== undefined && block.attempt === attempt && current === block) {
      block.written += text;
      out.write(block.filter.next(text));
      return;
    }
    if (block !== undefined && block.attempt < attempt) retract(block.step, block.attempt);
    breakLine();
    const opened = { id, attempt, step: step ?? '', written: text, filter: createControlsFilter() };
    written.set(id, opened);
    current = opened;
    out.write(`${thinking ? 'thinking: ' : '\n'}${opened.filter.next(text)}`);
  }

  /** The whole text is known now: what is missing of it is added, and if it is another one, that is said. */
  function close(thinking: boolean, id: string, step: string | undefined, attempt: number, text: string): void {
    const block = written.get(id);
    if (block?.written === text) return breakLine();
    if (block !== undefined && current === block && text.startsWith(block.written)) {
      out.write(block.filter.next(text.slice(block.written.length)));
      return breakLine();
    }
    if (block !== undefined) say('[some of the text above was lost on the way: here it is whole]');
    written.delete(id);
    write(thinking, id, step, attempt, text);
    breakLine();
  }

  function retract(step: string, attempt: number): void {
    if ((retracted.get(step) ?? 0) >= attempt) return;
    retracted.set(step, attempt);
    const dead = [...written.values()].filter((block) => block.step === step && block.attempt <= attempt);
    for (const block of dead) written.delete(block.id);
    if (dead.length > 0)
      say(`[attempt ${Math.max(...dead.map((block) => block.attempt))} was retracted: what it wrote above is void]`);
  }

  function say(text: string): void {
    breakLine();
    out.write(`${withoutControls(text)}\n`);
  }

  function breakLine(): void {
    if (current !== undefined) out.write(current.filter.rest());
    if (current !== undefined && !current.written.endsWith('\n')) out.write('\n');
    current = undefined;
  }
}
