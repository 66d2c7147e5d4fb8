/** The texts and the reasoning of a run, event by event, as a dialect that cannot take anything back may show them. */
import type { StreamEvent } from '../contract/live-events.js';
import { close, endFlows, hear, say, wasSaid } from './shown-text.js';
import type { FlowKind, Shown } from './shown-text.js';

export interface TextNews {
  of: FlowKind;
  /** What was shown of it before is void: say so first, then show `again`, which has no place. */
  voided: boolean;
  again: string;
  /** A live piece, or the whole text of a closed block, of which the reader has the first `from` characters. */
  text: string;
  from: number;
  durable: boolean;
}

export interface Followed {
  shown: Shown;
  news: readonly TextNews[];
}

export function followText(shown: Shown, event: StreamEvent): Followed {
  switch (event.type) {
    case 'text_chunk':
    case 'summary_chunk':
      return heard(shown, 'text', event);
    case 'thinking_chunk':
      return heard(shown, 'thinking', event);
    case 'text_end':
    case 'notice_posted':
    case 'thinking_end':
    case 'summary_final':
      return closed(shown, event);
    // Calls are committed after all texts of their step, and what is void should not wait for the tools to end.
    case 'tool_requested':
      return ended(shown, event.step_id ?? '', ['text', 'thinking']);
    case 'step_completed':
      return ended(shown, event.step_id ?? '', ['text', 'thinking', 'input', 'output']);
    case 'live_dropped':
      return { shown: { ...shown, gap: true }, news: [] };
    default:
      return { shown, news: [] };
  }
}

/** A model that refuses may say nothing else. */
export function spokenText(event: { text: string; refusal?: string | undefined }): string {
  return event.text === '' ? (event.refusal ?? '') : event.text;
}

function heard(
  before: Shown,
  of: 'text' | 'thinking',
  { step_id = '', attempt, text }: { step_id?: string | undefined; attempt: number; text: string },
): Followed {
  const { shown, text: fresh, voided } = hear(before, { kind: of, step: step_id, of: '' }, attempt, text);
  if (fresh === '' && !voided) return { shown, news: [] };
  return { shown, news: [{ of, voided, again: '', text: fresh, from: 0, durable: false }] };
}

type Closing = Extract<StreamEvent, { type: 'text_end' | 'thinking_end' | 'summary_final' | 'notice_posted' }>;

function closed(before: Shown, event: Closing): Followed {
  const of = event.type === 'thinking_end' ? 'thinking' : 'text';
  const text = spokenText(event);
  const whole = { of, voided: false, again: '', text, from: 0, durable: true } as const;
  if (event.type === 'notice_posted') return { shown: before, news: [whole] };
  // Without a block it repeats the texts of its step, which this reader has unless its profile leaves them out.
  if (event.block_id === undefined) return { shown: before, news: wasSaid(before, text) ? [] : [whole] };
  const step = event.step_id ?? '';
  const { shown, from, voided, again } = close(before, { kind: of, step, of: '' }, text);
  return {
    shown: event.type === 'text_end' ? say(shown, step, text, event.continues) : shown,
    news: [{ ...whole, from, voided, again }],
  };
}

function ended(before: Shown, step: string, kinds: readonly FlowKind[]): Followed {
  const { shown, voided } = endFlows(before, step, kinds);
  const news = voided.map(({ flow, again }): TextNews => ({
    of: flow.kind,
    voided: true,
    again,
    text: '',
    from: 0,
    durable: true,
  }));
  return { shown, news };
}
