/**
 * What a reader has been shown of texts that are still open, for dialects that cannot take anything back.
 *
 * A flow is what a reader sees as one text: all text of a step, all its reasoning, the arguments of one call, the
 * output of one call. It is kept by step and not by block, since a second attempt may cut its blocks differently.
 *
 * F1  What was sent is known by length and hash. A new attempt, or the replay after a resume, is held back until it
 *     is as long as that; if it agrees, only the rest is shown, else what was sent is void and all of it is shown.
 * F2  Closing events go through a step's blocks in order. One whose text was sent already is passed over; if it turns
 *     out later that what was sent was another attempt's, what was passed over is shown `again`.
 * F3  Once a step's first block is closed its live deltas are over: what is missing comes with the next closing events.
 * F4  After `live_dropped` there is no telling what is missing, so the step of the next delta is shown by its closing
 *     events alone. All that was dropped is older than that delta.
 * F5  Half of a surrogate pair is never sent: it waits for its other half.
 */
import { beginsWith, extendMark, markOf, NOTHING, sameMark } from './text-mark.js';
import type { Mark } from './text-mark.js';
import type { Twins } from './shown-twins.js';

export type FlowKind = 'text' | 'thinking' | 'input' | 'output';

export interface FlowName {
  readonly kind: FlowKind;
  readonly step: string;
  /** The block of an input, the call of an output; empty where a step has one. */
  readonly of: string;
}

export interface Flow extends FlowName {
  /** What the reader has of the attempt that counts, or of one that is not known to be void. */
  readonly sent: Mark;
  readonly attempt: number;
  /** `held` is all that came after `sent`; otherwise all of this attempt, which is not yet compared with `sent`. */
  readonly following: boolean;
  readonly held: string;
  /** The text of its closed blocks; the step's end forgets it. */
  readonly closed: string;
  /** `sent` is known to agree with the log. */
  readonly settled: boolean;
}

export interface Shown {
  readonly commit: boolean;
  readonly flows: Readonly<Record<string, Flow>>;
  readonly twins: Twins;
  /** Live events were dropped, and none has come since. */
  readonly gap: boolean;
  /** The step of which live events may be missing. */
  readonly broken?: string;
  /** The step whose blocks are being closed. */
  readonly closing?: string;
  /**
   * The text of the last step that had any, from each of its blocks to its end: an answer that repeats one of these is
   * not shown again. A planner may have said more before it.
   */
  readonly said?: { readonly step: string; readonly ends: readonly Mark[] };
}

export function nothingShown(commit: boolean): Shown {
  return { commit, flows: {}, twins: [], gap: false };
}

export function flowOf({ flows }: Shown, name: FlowName): Flow {
  return (
    flows[keyOf(name)] ?? {
      ...name,
      sent: NOTHING,
      attempt: 0,
      following: true,
      held: '',
      closed: '',
      settled: false,
    }
  );
}

export interface Heard {
  shown: Shown;
  text: string;
  /** What was shown of this flow before is void. */
  voided: boolean;
}

/** A live delta: what of it can be shown now. */
export function hear(shown: Shown, name: FlowName, attempt: number, text: string): Heard {
  const now: Shown = shown.gap ? { ...shown, gap: false, broken: name.step } : shown;
  const over = name.kind !== 'output' && now.closing === name.step;
  const before = flowOf(now, name);
  if (now.commit || now.broken === name.step || over || attempt < before.attempt) {
    return { shown: now, text: '', voided: false };
  }
  const flow = attempt === before.attempt ? before : { ...before, attempt, following: false, held: '' };
  const held = flow.held + text;
  if (!flow.following && held.length < flow.sent.length) {
    return { shown: put(now, { ...flow, held }), text: '', voided: false };
  }
  const agrees = flow.following || beginsWith(held, flow.sent);
  const from = flow.following || !agrees ? 0 : flow.sent.length;
  const end = isHighSurrogate(held.charCodeAt(held.length - 1)) ? held.length - 1 : held.length;
  const fresh = held.slice(from, Math.max(from, end));
  const sent = extendMark(agrees ? flow.sent : NOTHING, fresh);
  const next = { ...flow, sent, following: true, held: held.slice(Math.max(from, end)) };
  return { shown: put(now, next), text: fresh, voided: !agrees };
}

export interface Closed {
  shown: Shown;
  /** How many characters of the text the reader has already. */
  from: number;
  voided: boolean;
  /** Of earlier blocks of the same flow: what was passed over and has to be shown after all. */
  again: string;
}

/** A closing event with the whole text of a block. */
export function close(shown: Shown, name: FlowName, text: string): Closed {
  const closing: Shown = name.kind === 'output' ? shown : { ...shown, closing: name.step };
  const flow = flowOf(closing, name);
  const reach = flow.sent.length - flow.closed.length;
  const closed = flow.closed + text;
  const settle = (from: number, voided = false): Closed => {
    const next = { ...flow, closed, settled: true, held: '' };
    return { shown: put(closing, next), from, voided, again: voided ? flow.closed : '' };
  };
  if (flow.settled || reach <= 0) return settle(0);
  if (reach > text.length) {
    return { shown: put(closing, { ...flow, closed }), from: text.length, voided: false, again: '' };
  }
  return beginsWith(closed, flow.sent) ? settle(reach) : settle(0, true);
}

export interface VoidFlow {
  flow: Flow;
  again: string;
}

/** No more of these will be closed in this step: what was sent beyond its closing events is void. */
export function endFlows(
  shown: Shown,
  step: string,
  kinds: readonly FlowKind[],
): { shown: Shown; voided: readonly VoidFlow[] } {
  const isOver = (flow: Flow) => flow.step === step && kinds.includes(flow.kind);
  const voided = Object.values(shown.flows)
    .filter((flow) => isOver(flow) && !flow.settled && flow.kind !== 'output' && flow.sent.length > flow.closed.length)
    .map((flow) => ({ flow, again: flow.closed }));
  const rest = Object.entries(shown.flows).filter(([, flow]) => !isOver(flow));
  return { shown: { ...shown, flows: Object.fromEntries(rest) }, voided };
}

/** The call has its result: nothing more will come of its output. */
export function endFlow(shown: Shown, name: FlowName): Shown {
  const flows = Object.entries(shown.flows).filter(([key]) => key !== keyOf(name));
  return { ...shown, flows: Object.fromEntries(flows) };
}

/** A reader comes back who has been sent this much of a flow. */
export function resumeFlow(shown: Shown, name: FlowName, sent: Mark): Shown {
  const flow = flowOf(shown, name);
  return put(shown, { ...flow, sent, following: false, held: '', settled: false });
}

/** Remembers what was said in a step, block by block, and in the steps that it continues. */
export function say(shown: Shown, step: string, text: string, continues = false): Shown {
  if (text === '') return shown;
  const isSame = shown.said !== undefined && (shown.said.step === step || continues);
  const before = isSame ? shown.said.ends : [];
  return { ...shown, said: { step, ends: [...before, NOTHING].map((mark) => extendMark(mark, text)) } };
}

/** The text is, word for word, what the last step said in the end. */
export function wasSaid({ said }: Shown, text: string): boolean {
  const mark = markOf(text);
  return said !== undefined && said.ends.some((end) => sameMark(end, mark));
}

function put(shown: Shown, flow: Flow): Shown {
  return { ...shown, flows: { ...shown.flows, [keyOf(flow)]: flow } };
}

function keyOf({ kind, step, of }: FlowName): string {
  return `${kind} ${step} ${of}`;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
