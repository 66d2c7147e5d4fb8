/** Text and reasoning as `content` and `reasoning`, each once, guarded where it looks like something else. */
import type { StreamEvent } from '../../contract/live-events.js';
import type { Line } from '../dialect.js';
import { followText } from '../follow-text.js';
import type { TextNews } from '../follow-text.js';
import type { FlowKind } from '../shown-text.js';
import { contentPieces, guarded } from './guard-content.js';
import { content, hotCode, reasoning, researchStatus } from './shapes.js';
import type { ContractLine } from './shapes.js';
import { unplaced } from './state.js';
import type { ContractState, ContractTold } from './state.js';
import { RUNTIME } from './tool-lines.js';

const VOID = 'The model call was given up: the text above is void, and what follows, if anything, replaces it.';
const BREAK = '\n\n';

export function tellText(state: ContractState, event: StreamEvent): ContractTold {
  const { shown, news } = followText(state.shown, event);
  const lines = news.flatMap((item) => newsLines(event.run_id, item));
  return { state: { ...state, shown }, lines, warnings: [] };
}

/** What was shown is void: a warning, a break in the same flow, and what has to be shown again. */
export function voidLines(run_id: string, of: FlowKind, again: string): Line[] {
  const lines: ContractLine[] = [researchStatus(run_id, RUNTIME, 'warning', VOID)];
  if (of === 'text') {
    const pieces = again === '' ? [] : contentPieces(again);
    lines.push(content(run_id, BREAK), ...pieces.map(({ text }) => content(run_id, guarded(text))));
  } else {
    const make = of === 'thinking' ? reasoning : hotCode;
    lines.push(make(run_id, BREAK + again));
  }
  return unplaced(lines);
}

function newsLines(run_id: string, { of, voided, again, text, from, durable }: TextNews): Line[] {
  const before = voided ? voidLines(run_id, of, again) : [];
  if (text.length <= from) return before;
  const place = (line: Line, at: number): Line => (durable ? { place: at, ...line } : line);
  if (of !== 'text') return [...before, place({ data: reasoning(run_id, text.slice(from)) }, 0)];
  const pieces = contentPieces(text).flatMap((piece, at) => {
    const rest = piece.text.slice(Math.max(0, from - piece.from));
    return rest === '' ? [] : [place({ data: content(run_id, guarded(rest)) }, at)];
  });
  return [...before, ...pieces];
}
