/**
 * Stream profiles: what an audience sees of a run. A profile is data, applied by a pure function on the reader's
 * side of the log, to durable and live events alike.
 *
 * P1  `run_completed` is always shown: a profile can blank its content, never leave it out.
 * P2  A blanked event is still one that the contract's parser takes: fields that may be absent are, the others hold
 *     a neutral value. Texts of blocks become '', so that closing events still equal their deltas.
 * P3  A profile that blanks a text and shows its pieces, or the other way round, is refused.
 * P4  What a profile does not say is not shown: `default` is `omit` unless it says otherwise.
 */
import { z } from 'zod';
import { PerdureError } from './errors.js';
import type { DurableEvent, DurableEventType } from './events.js';
import type { LiveEvent, StreamMarker } from './live-events.js';

export type EventKind = DurableEventType | LiveEvent['type'];

const REMOVED = Symbol('removed');
const text = { text: '' };
const meta = { provider_meta: REMOVED };
const HIDDEN = '[redacted]';

/** Per kind of event, the fields that can be blanked and what they become. A path goes through lists. */
const BLANKS: Record<EventKind, Readonly<Record<string, unknown>>> = {
  run_started: { input: HIDDEN },
  run_phase_changed: {},
  run_completed: {
    answer: '',
    'failure.message': HIDDEN,
    'failure.debug_message': HIDDEN,
    'failure.provider': REMOVED,
    'failure.http_status': REMOVED,
    'cancellation.note': REMOVED,
    'usage.cost_usd': REMOVED,
    'usage.charged_cost_usd': REMOVED,
    'tree_usage.cost_usd': REMOVED,
    'tree_usage.charged_cost_usd': REMOVED,
  },
  agent_run_started: {},
  child_await_changed: {},
  step_started: { title: '' },
  step_completed: {},
  usage_recorded: { 'usage.model': HIDDEN },
  thinking_start: {},
  thinking_chunk: text,
  thinking_end: { ...text, ...meta },
  text_start: {},
  text_chunk: text,
  text_end: { ...text, refusal: REMOVED, ...meta },
  summary_start: {},
  summary_chunk: text,
  summary_final: { ...text, ...meta },
  attempt_retracted: {},
  model_fallback: { from: HIDDEN, to: HIDDEN, reason: HIDDEN },
  context_compacted: { summary: HIDDEN },
  tool_requested: { arguments: '{}', ...meta },
  tool_scheduled: {},
  tool_input_chunk: text,
  tool_output_chunk: text,
  tool_progress: { message: '', fraction: REMOVED },
  tool_retry: { reason: HIDDEN },
  tool_result: {
    content: HIDDEN,
    output_ref: REMOVED,
    screenshot_base64: REMOVED,
    link: REMOVED,
    'failure.message': HIDDEN,
    'failure.issues': [],
  },
  notice_posted: text,
  policy_decided: { rule: REMOVED, reason: HIDDEN },
  budget_exceeded: {},
  await_clarification: { question: HIDDEN, choices: REMOVED },
  await_external_tools: { 'calls.arguments': '{}' },
  await_approval: { arguments: '{}', digest: '' },
  await_resolved: { answered_by: REMOVED, note: REMOVED },
  answer_rejected: { reason: HIDDEN },
  goal_declared: { goal_type: HIDDEN, goal_data: {} },
  goal_achieved: {},
  goal_failed: { reason: HIDDEN },
  reprompted: { content: HIDDEN, reason: HIDDEN },
  file_generated: { filename: HIDDEN, url: REMOVED },
};

/** A live kind, and the durable kind and field that say the same in the end. */
const PIECES = [
  ['thinking_chunk', 'thinking_end', 'text'],
  ['text_chunk', 'text_end', 'text'],
  ['summary_chunk', 'summary_final', 'text'],
  ['tool_input_chunk', 'tool_requested', 'arguments'],
  ['tool_output_chunk', 'tool_result', 'content'],
] as const;

const Kind = z.enum(Object.keys(BLANKS) as [EventKind, ...EventKind[]]);
const Showing = z.enum(['omit', 'redact', 'include']);

export const ChildStreams = z.enum(['invisible', 'linked', 'flattened']);
export type ChildStreams = z.infer<typeof ChildStreams>;

export const StreamProfile = z
  .strictObject({
    kinds: z.partialRecord(Kind, Showing),
    /** For the kinds that are not named. */
    default: z.enum(['omit', 'include']).default('omit'),
    /** Nothing of them; the links and pauses in the parent's log; or their events too, each under its own run. */
    children: ChildStreams.default('linked'),
    /** Per kind that is redacted: the fields that are blanked, `failure.debug_message` for one inside another. */
    redact: z.partialRecord(Kind, z.array(z.string()).min(1, 'must name a field')).default({}),
  })
  // All mistakes are named at once: also these, where the shape has some of its own.
  .superRefine(
    (given, context) => {
      for (const { path, message } of contradictions(given)) context.addIssue({ code: 'custom', path, message });
    },
    { when: () => true },
  );
export type StreamProfile = z.infer<typeof StreamProfile>;
/** A profile as its author writes it. */
export type StreamProfileInput = z.input<typeof StreamProfile>;

type ProfiledEvent = DurableEvent | LiveEvent | StreamMarker;

/** The event as this audience may see it; undefined if it may not. Markers of the stream always pass. */
export function applyProfile<E extends ProfiledEvent>(profile: StreamProfile, event: E): E | undefined {
  const { type } = event;
  if (type === 'stream_ended' || type === 'live_dropped') return event;
  const unseen = profile.children === 'invisible';
  if (unseen && (type === 'agent_run_started' || type === 'child_await_changed')) return undefined;
  const showing = showingOf(profile, type);
  if (showing === 'omit') return type === 'run_completed' ? blanked(event, Object.keys(BLANKS[type])) : undefined;
  const fields = showing === 'redact' ? (profile.redact[type] ?? Object.keys(BLANKS[type])) : [];
  return blanked(event, unseen && type === 'tool_result' ? [...fields, 'link'] : fields);
}

/** Checks a profile of one's own, or finds one that ships by its name. */
export function resolveProfile(profile: string | StreamProfileInput): StreamProfile {
  if (typeof profile === 'string') {
    if (isShipped(profile)) return PROFILES[profile];
    const names = Object.keys(PROFILES).join(', ');
    throw new PerdureError('invalid_request', `profile: there is no stream profile "${profile}", only ${names}`);
  }
  const parsed = StreamProfile.safeParse(profile);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, message }) => `${['profile', ...path].join('.')}: ${message}`);
  throw new PerdureError('invalid_request', `the stream profile is invalid: ${issues.join('; ')}`);
}

export function showingOf(profile: StreamProfile, kind: EventKind): z.infer<typeof Showing> {
  return Object.hasOwn(profile.kinds, kind) ? (profile.kinds[kind] ?? profile.default) : profile.default;
}

function blanked<E extends ProfiledEvent>(event: E, fields: readonly string[]): E {
  const blanks = BLANKS[event.type as EventKind];
  return fields.reduce<unknown>((value, field) => set(value, field.split('.'), blanks[field]), event) as E;
}

function set(value: unknown, [field = '', ...rest]: readonly string[], to: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => set(item, [field, ...rest], to));
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, field)) return value;
  const copy: Record<string, unknown> = { ...value };
  if (rest.length > 0) copy[field] = set(copy[field], rest, to);
  else if (to === REMOVED) delete copy[field];
  else copy[field] = to;
  return copy;
}

/** What is wrong with a profile whose every field may be right. The shape may be anything: it is checked beside. */
function* contradictions(given: unknown): Generator<{ path: string[]; message: string }> {
  const record = (value: unknown) =>
    (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  const { kinds: kindsGiven, redact: redactGiven, default: defaultGiven } = record(given);
  const [kinds, redact] = [record(kindsGiven), record(redactGiven)];
  const showing = (kind: EventKind) => kinds[kind] ?? defaultGiven ?? 'omit';
  const fields = (kind: string) => (Array.isArray(redact[kind]) ? (redact[kind] as unknown[]) : []);
  if (showing('run_completed') === 'omit') {
    const message = 'cannot be omitted, nor left to a default of "omit": say "include" or "redact"';
    yield { path: ['kinds', 'run_completed'], message };
  }
  for (const [kind, how] of Object.entries(kinds)) {
    if (how === 'redact' && !(kind in redact)) {
      yield { path: ['redact', kind], message: `must name the fields to blank, since kinds.${kind} is "redact"` };
    }
  }
  for (const kind of Object.keys(redact).filter((name): name is EventKind => name in BLANKS)) {
    if (kinds[kind] !== 'redact') {
      yield { path: ['redact', kind], message: `has no effect unless kinds.${kind} is "redact"` };
    }
    const known = Object.keys(BLANKS[kind]);
    for (const field of fields(kind).filter((name) => !known.includes(name as string))) {
      const message = `"${String(field)}" cannot be blanked; ${known.length === 0 ? 'no field of it can' : `only ${known.join(', ')} can`}`;
      yield { path: ['redact', kind], message };
    }
  }
  for (const [piece, whole, field] of PIECES) {
    const hides = (kind: EventKind, name: string) => showing(kind) === 'redact' && fields(kind).includes(name);
    const hidden = showing(whole) === 'omit' || hides(whole, field);
    if (hidden && showing(piece) !== 'omit' && !hides(piece, 'text')) {
      yield {
        path: ['kinds', piece],
        message: `would show piece by piece what ${whole} does not show: omit it, or redact its text`,
      };
    }
    if (!hidden && hides(piece, 'text')) {
      yield {
        path: ['kinds', piece],
        message: `blanks piece by piece what ${whole} shows: omit it, or redact ${whole}.${field} too`,
      };
    }
  }
}

const noResult = ['content', 'output_ref', 'screenshot_base64', 'failure.message', 'failure.issues'];

/** The profiles that ship. */
export const PROFILES = {
  /** What the person who asked may see: texts, phases, pauses, which tools run; no reasoning, arguments, results, rules. */
  user_chat: onlyThese({
    children: 'linked',
    include: [
      ...(['run_phase_changed', 'agent_run_started', 'child_await_changed', 'step_started', 'step_completed'] as const),
      ...([
        'text_start',
        'text_chunk',
        'summary_start',
        'summary_chunk',
        'attempt_retracted',
        'notice_posted',
      ] as const),
      // Whoever answers must know what is asked.
      ...([
        'await_clarification',
        'await_external_tools',
        'await_approval',
        'goal_achieved',
        'file_generated',
      ] as const),
    ],
    redact: {
      // A child's input is made of its parent's arguments.
      run_started: ['input'],
      run_completed: Object.keys(BLANKS.run_completed).filter(
        (field) => field !== 'answer' && field !== 'failure.message',
      ),
      text_end: ['provider_meta'],
      summary_final: ['provider_meta'],
      tool_requested: ['arguments', 'provider_meta'],
      // What a tool wants the user to read, it posts as a notice.
      tool_progress: ['message'],
      tool_result: noResult,
      await_resolved: ['answered_by', 'note'],
      goal_declared: ['goal_data'],
      goal_failed: ['reason'],
    },
  }),
  /** Everything, of the whole tree. */
  agent_debug: StreamProfile.parse({ kinds: {}, default: 'include', children: 'flattened' }),
  /** Counts, durations and outcomes of the whole tree, and no content. */
  metrics: onlyThese({
    children: 'flattened',
    include: [
      ...(['run_phase_changed', 'agent_run_started', 'child_await_changed', 'step_completed'] as const),
      ...(['usage_recorded', 'attempt_retracted', 'model_fallback', 'tool_scheduled', 'budget_exceeded'] as const),
    ],
    redact: {
      run_started: ['input'],
      run_completed: ['answer', 'failure.message', 'failure.debug_message', 'cancellation.note'],
      step_started: ['title'],
      tool_requested: ['arguments', 'provider_meta'],
      context_compacted: ['summary'],
      tool_retry: ['reason'],
      tool_result: noResult,
      policy_decided: ['rule', 'reason'],
      await_clarification: ['question', 'choices'],
      await_external_tools: ['calls.arguments'],
      await_approval: ['arguments', 'digest'],
      await_resolved: ['answered_by', 'note'],
      file_generated: ['filename', 'url'],
    },
  }),
} as const satisfies Record<string, StreamProfile>;
export type ProfileName = keyof typeof PROFILES;

function isShipped(name: string): name is ProfileName {
  return Object.hasOwn(PROFILES, name);
}

function onlyThese(shown: {
  children: ChildStreams;
  include: readonly EventKind[];
  redact: NonNullable<StreamProfileInput['redact']>;
}): StreamProfile {
  const { children, include, redact } = shown;
  const kinds = Object.fromEntries([
    ...include.map((kind) => [kind, 'include'] as const),
    ...Object.keys(redact).map((kind) => [kind, 'redact'] as const),
  ]);
  return StreamProfile.parse({ kinds, children, redact });
}
