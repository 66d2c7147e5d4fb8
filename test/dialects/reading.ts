/** What a person would have in front of them at the end, were void text crossed out. */
import type { DurableEvent } from '../../contract/events.js';
import type { StreamEvent } from '../../contract/live-events.js';
import { createRouter } from '../../dialects/index.js';
import type { DialectName } from '../../dialects/index.js';
import type { Said } from './tell-all.js';

export type Flow = 'text' | 'thinking';

export interface Reading {
  /** An event, and what the dialect said of it. */
  read(event: StreamEvent, said: readonly Said[]): void;
  text(): string;
  thinking(): string;
}

type Heard = { flow: Flow; text: string; voids: boolean };

/**
 * Where a dialect says that what it had shown is void, everything of that flow since its step began is crossed out,
 * with the blank line that follows.
 */
export function createReading(dialect: Exclude<DialectName, 'perdure'>): Reading {
  const shown = { text: '', thinking: '' };
  const stepBegan = { text: 0, thinking: 0 };
  const hear = dialect === 'event_contract' ? routedTexts() : dialect === 'task_steps' ? deltaTexts : agentTexts;
  return {
    read(event, said) {
      if (event.type === 'step_started') {
        stepBegan.text = shown.text.length;
        stepBegan.thinking = shown.thinking.length;
      }
      for (const { flow, text, voids } of hear(said)) {
        shown[flow] = voids ? shown[flow].slice(0, stepBegan[flow]) + text.slice(2) : shown[flow] + text;
      }
    },
    text: () => shown.text,
    thinking: () => shown.thinking,
  };
}

/** All text and reasoning of a log, in its order. */
export function textsOf(log: readonly DurableEvent[]): { text: string; thinking: string } {
  const said = (types: readonly string[]) =>
    log.map((event) => (types.includes(event.type) && 'text' in event && !repeats(event) ? event.text : '')).join('');
  return { text: said(['text_end', 'notice_posted', 'summary_final']), thinking: said(['thinking_end']) };
}

function repeats(event: DurableEvent): boolean {
  return event.type === 'summary_final' && event.block_id === undefined;
}

function routedTexts(): (said: readonly Said[]) => Heard[] {
  const router = createRouter();
  return (said) => {
    const heard: Heard[] = [];
    let voids = false;
    for (const item of said) {
      if (!('data' in item)) continue;
      for (const routed of router.push(`${JSON.stringify(item.data)}\n`)) {
        if (routed.to === 'research_status' && routed.activity.includes('is void')) voids = true;
        if (routed.to === 'code') voids = false;
        if (routed.to !== 'chat' && routed.to !== 'reasoning') continue;
        heard.push({ flow: routed.to === 'chat' ? 'text' : 'thinking', text: routed.text, voids });
        voids = false;
      }
    }
    return heard;
  };
}

function deltaTexts(said: readonly Said[]): Heard[] {
  const isVoid = said.some((item) => 'warning' in item && item.warning.includes('is void'));
  const deltas = said.flatMap((item) =>
    'data' in item && item.data['type'] === 'text_part_delta' ? [item.data['data'] as string] : [],
  );
  return deltas.map((text, index) => ({ flow: 'text', text, voids: isVoid && index === 0 }));
}

/** The warning does not say which flow; a line without a place that begins with a blank line does. */
function agentTexts(said: readonly Said[]): Heard[] {
  const isVoid = said.some((item) => 'warning' in item && item.warning.includes('is void'));
  const voided = new Set<Flow>();
  return said.flatMap((item): Heard[] => {
    if (!('data' in item) || (item.data['type'] !== 'text' && item.data['type'] !== 'reasoning')) return [];
    const flow = item.data['type'] === 'text' ? 'text' : 'thinking';
    const text = item.data['content'] as string;
    const voids = isVoid && !voided.has(flow) && text.startsWith('\n\n') && item.place === undefined;
    voided.add(flow);
    return [{ flow, text, voids }];
  });
}
