/**
 * The eight agent events of `seeds/core-types.md` section 5, and nothing else in them: which run speaks is in the
 * transport's envelope.
 *
 * A durable line's `timestamp` is the time of its event, so that all readers get the same bytes. A live event has no
 * time: its line has the clock's, if the reader's side brings one, and else that of the last durable event.
 *
 * Text cannot be taken back: when a retried call goes another way, a `text` or `reasoning` of a blank line separates
 * the two and the transport warns. `final` is the answer, whatever came before, and the end: a run that is told inside
 * another's stream has none, and its steps and calls have the run in front of their ids.
 */
import type { AgentEvent } from '../../contract/agent-events.js';
import { readDataUrl } from '../../contract/data-url.js';
import type { DurableEvent, EventOf } from '../../contract/events.js';
import { idInTree } from '../../contract/ids.js';
import type { Dialect, Line, Told } from '../dialect.js';
import { followText } from '../follow-text.js';
import type { TextNews } from '../follow-text.js';
import { pauseWarnings } from '../pause-warning.js';
import { readShown, writeShown } from '../shown-cursor.js';
import { nothingShown } from '../shown-text.js';
import type { Shown } from '../shown-text.js';
import { streamWarnings, VOID_TEXT } from '../stream-warning.js';
import { calledTool, parsedArguments, resultText, toldCallId } from '../tool-words.js';

export interface AgentEventsState {
  readonly shown: Shown;
  readonly nested: boolean;
  readonly clock?: () => number;
  /** Of the last durable event, in epoch milliseconds. */
  readonly at: number;
}

export const agentEvents: Dialect<AgentEventsState> = {
  name: 'agent_events',
  begin: ({ commit, nested = false, clock }) => ({
    shown: nothingShown(commit),
    nested,
    at: 0,
    ...(clock === undefined ? {} : { clock }),
  }),
  tell(state, event): Told<AgentEventsState> {
    const isDurable = 'seq' in event;
    const at = isDurable ? Date.parse(event.at) : state.at;
    const timestamp = isDurable ? at : (state.clock?.() ?? at);
    const followed = followText(state.shown, event);
    // `final` is the whole answer: as text it is shown only where it was streamed as one.
    const news = event.type === 'summary_final' && event.block_id === undefined ? [] : followed.news;
    const texts = news.flatMap((item) => textLines(item, timestamp));
    const said = isDurable ? factOf(event, state.nested) : undefined;
    const place = event.type === 'summary_final' && event.block_id !== undefined ? 1 : 0;
    const warnings = [...pauseWarnings(event), ...streamWarnings(event)];
    if (news.some(({ voided }) => voided)) warnings.push(VOID_TEXT);
    const lines = said === undefined ? texts : [...texts, { place, data: said }];
    return { state: { ...state, shown: followed.shown, at }, lines, warnings };
  },
  shown: ({ shown }) => writeShown(shown),
  resume: (state, written) => ({ ...state, shown: readShown(state.shown, written) }),
};

function textLines({ of, voided, again, text, from, durable }: TextNews, timestamp: number): Line[] {
  const type = of === 'thinking' ? 'reasoning' : 'text';
  const line = (content: string): AgentEvent => ({ type, content, timestamp });
  const lines: Line[] = voided ? [{ data: line(`\n\n${again}`) }] : [];
  const rest = text.slice(from);
  if (rest !== '') lines.push({ ...(durable ? { place: 0 } : {}), data: line(rest) });
  return lines;
}

/** The tool's first picture, where it is in the log: the transport brings those that are kept beside it. */
function screenshotOf(event: EventOf<'tool_result'>): { screenshot_base64?: string } {
  const { content, screenshot_base64: kept } = event;
  if (kept !== undefined) return { screenshot_base64: kept };
  for (const part of typeof content === 'string' ? [] : content) {
    const base64 = part.type === 'image_url' ? readDataUrl(part.image_url.url)?.base64 : undefined;
    if (base64 !== undefined) return { screenshot_base64: base64 };
  }
  return {};
}

function factOf(event: DurableEvent, nested: boolean): AgentEvent | undefined {
  const { run_id, step_id: step = '' } = event;
  const step_id = nested ? idInTree(run_id, step) : step;
  const tool_call_id = toldCallId(event, nested);
  switch (event.type) {
    case 'step_started':
      return { type: 'step_start', step_id, title: event.title, step_number: event.step_number };
    case 'step_completed':
      return { type: 'step_complete', step_id, status: event.status, duration_ms: event.duration_ms };
    case 'tool_requested':
      return {
        type: 'tool_call',
        tool: calledTool(event),
        args: parsedArguments(event.arguments),
        tool_call_id,
        ...(event.display_name === undefined ? {} : { display_name: event.display_name }),
      };
    case 'tool_result':
      return {
        type: 'tool_result',
        tool: calledTool(event),
        result: resultText(event),
        tool_call_id,
        ...(event.status === 'error' ? { is_error: true } : {}),
        ...screenshotOf(event),
      };
    case 'reprompted':
      return { type: 'hidden_user_message', content: event.content };
    case 'summary_final':
      return nested ? undefined : { type: 'final', content: event.text };
    default:
      return undefined;
  }
}
