/**
 * Stream profiles: what an audience sees of a run. A profile is data, applied by a pure function on the reader's
 * side of the log, to durable and live events alike.
 *
 * P1  `run_completed` is always shown: a profile can blank its content, never leave it out.
 * P2  A blanked event is still one that the contract's parser takes: fields that may be absent are, the others hold
 *     the empty value of their type, and never a word, which a reader would take for content.
 * P3  A profile that blanks a text and shows its pieces, or the other way round, is refused.
 * P4  What a profile does not say is not shown: `default` is `omit` unless it says otherwise.
 */
import { z } from 'zod';
import { artefactOf } from './artefacts.js';
import { PerdureError } from './errors.js';
import type { DurableEvent, DurableEventType } from './events.js';
import type { LiveEvent, StreamMarker } from './live-events.js';
import { contradictions } from './profile-mistakes.js';

export type EventKind = DurableEventType | LiveEvent['type'];

const REMOVED = Symbol('removed');
const text = { text: '' };
const meta = { provider_meta: REMOVED };

/** Per kind of event, the fields that can be blanked and what they become. A path goes through lists. */
const BLANKS: Record<EventKind, Readonly<Record<string, unknown>>> = {
  run_started: { input: '', input_name: REMOVED },
  run_phase_changed: {},
  run_completed: {
    answer: '',
    'failure.message': '',
    'failure.debug_message': '',
    'failure.provider': REMOVED,
    'failure.http_status': REMOVED,
    'cancellation.note': REMOVED,
    'usage.cost_usd': REMOVED,
    'usage.charged_cost_usd': REMOVED,
    'tree_usage.cost_usd': REMOVED,
    'tree_usage.charged_cost_usd': REMOVED,
  },
  agent_run_started: {},
  child_await_changed: { 'asks.text': '', 'asks.digest': REMOVED, answer: REMOVED },
  step_started: { title: '' },
  step_completed: {},
  usage_recorded: { 'usage.model': '' },
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
  model_fallback: { from: '', to: '', reason: '' },
  context_compacted: { summary: '' },
  tool_requested: { arguments: '{}', ...meta },
  tool_scheduled: {},
  tool_input_chunk: text,
  tool_output_chunk: text,
  tool_progress: { message: '', fraction: REMOVED },
  tool_retry: { reason: '' },
  tool_result: {
    content: '',
    value: REMOVED,
    output_ref: REMOVED,
    screenshot_base64: REMOVED,
    link: REMOVED,
    'failure.message': '',
    'failure.issues': [],
    debug_message: REMOVED,
  },
  notice_posted: text,
  policy_decided: { rule: REMOVED, reason: '' },
  budget_exceeded: {},
  await_clarification: { question: '', choices: REMOVED },
  await_external_tools: { 'calls.arguments': '{}' },
  await_approval: { arguments: '{}', digest: '', rendering: REMOVED },
  await_resolved: { answered_by: REMOVED, note: REMOVED },
  answer_rejected: { reason: '' },
  goal_declared: { goal_type: '', goal_data: {} },
  goal_achieved: {},
  goal_failed: { reason: '' },
  reprompted: { content: '', reason: '' },
  file_generated: { filename: '', url: REMOVED },
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
      for (const { path, message } of contradictions(given, BLANKS, PIECES))
        context.addIssue({ code: 'custom', path, message });
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
  if (type === 'stream_ended' || type === 'stream_failed' || type === 'live_dropped') return event;
  const unseen = profile.children === 'invisible';
  if (unseen && (type === 'agent_run_started' || type === 'child_await_changed')) return undefined;
  const showing = showingOf(profile, type);
  if (showing === 'omit') return type === 'run_completed' ? blanked(event, Object.keys(BLANKS[type])) : undefined;
  const fields = showing === 'redact' ? (profile.redact[type] ?? Object.keys(BLANKS[type])) : [];
  const shown = blanked(event, type === 'tool_result' ? withCompanions(fields, unseen) : fields);
  if (shown.type !== 'file_generated' || !fields.includes('filename')) return shown;
  // Its id has a digest of its name, by which one who guesses the name could be sure.
  return { ...shown, file_id: artefactOf(shown.file_id) };
}

/** The application's own, by name: see `own-profiles.ts`. */
export type OwnProfiles = ReadonlyMap<string, StreamProfile>;

/** Checks a profile that is given, or finds one by its name: of those that ship, and of the application's own. */
export function resolveProfile(profile: ProfileChoice, own: OwnProfiles = new Map()): StreamProfile {
  if (typeof profile === 'string') {
    const found = isShipped(profile) ? PROFILES[profile] : own.get(profile);
    if (found !== undefined) return found;
    const names = profileNames(own).join(', ');
    throw new PerdureError('invalid_request', `profile: there is no stream profile "${profile}", only ${names}`);
  }
  const parsed = StreamProfile.safeParse(profile);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, message }) => `${['profile', ...path].join('.')}: ${message}`);
  throw new PerdureError('invalid_request', `the stream profile is invalid: ${issues.join('; ')}`);
}

/** A value says what its text says, so it is hidden with it; and a link what a profile without children hides. */
function withCompanions(fields: readonly string[], unseen: boolean): readonly string[] {
  return [...fields, ...(fields.includes('content') ? ['value'] : []), ...(unseen ? ['link'] : [])];
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

const noResult = [
  'content',
  'value',
  'output_ref',
  'screenshot_base64',
  'failure.message',
  'failure.issues',
  'debug_message',
];

/** The profiles that ship. */
export const PROFILES = {
  /** What the person who asked may see: texts, phases, pauses, which tools run; no reasoning, arguments, results, rules. */
  user_chat: onlyThese({
    children: 'linked',
    include: [
      ...(['run_phase_changed', 'agent_run_started', 'child_await_changed', 'step_started', 'step_completed'] as const),
      ...(['text_start', 'text_chunk', 'summary_start', 'summary_chunk', 'attempt_retracted'] as const),
      ...(['notice_posted', 'goal_achieved', 'file_generated'] as const),
      // Whoever answers must know what is asked.
      ...(['await_clarification', 'await_external_tools', 'await_approval'] as const),
    ],
    redact: {
      // A child's input is made of its parent's arguments.
      run_started: ['input', 'input_name'],
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
  /**
   * What a page that speaks the event contract has places for: beside the texts the reasoning, what tools are given and
   * give, code as it is written and what it prints. Nothing of vendors, rules, costs and stacks.
   */
  event_contract: onlyThese({
    children: 'linked',
    include: [
      ...(['run_phase_changed', 'agent_run_started', 'child_await_changed', 'step_started', 'step_completed'] as const),
      ...(['text_start', 'text_chunk', 'summary_start', 'summary_chunk', 'attempt_retracted'] as const),
      ...(['thinking_start', 'thinking_chunk', 'tool_input_chunk', 'tool_output_chunk', 'tool_progress'] as const),
      ...(['tool_retry', 'notice_posted', 'budget_exceeded', 'goal_achieved', 'file_generated'] as const),
      ...(['await_clarification', 'await_external_tools', 'await_approval'] as const),
    ],
    redact: {
      run_started: ['input', 'input_name'],
      run_completed: Object.keys(BLANKS.run_completed).filter(
        (field) => field !== 'answer' && field !== 'failure.message',
      ),
      thinking_end: ['provider_meta'],
      text_end: ['provider_meta'],
      summary_final: ['provider_meta'],
      tool_requested: ['provider_meta'],
      tool_result: ['debug_message'],
      await_resolved: ['answered_by', 'note'],
      goal_declared: ['goal_data'],
      goal_failed: ['reason'],
    },
  }),
  /** Counts, durations and outcomes of the whole tree, and no content. */
  metrics: onlyThese({
    children: 'flattened',
    include: [
      ...(['run_phase_changed', 'agent_run_started', 'step_completed'] as const),
      ...(['usage_recorded', 'attempt_retracted', 'model_fallback', 'tool_scheduled', 'budget_exceeded'] as const),
    ],
    redact: {
      run_started: ['input', 'input_name'],
      run_completed: ['answer', 'failure.message', 'failure.debug_message', 'cancellation.note'],
      step_started: ['title'],
      tool_requested: ['arguments', 'provider_meta'],
      context_compacted: ['summary'],
      tool_retry: ['reason'],
      tool_result: noResult,
      policy_decided: ['rule', 'reason'],
      child_await_changed: ['asks.text', 'asks.digest', 'answer'],
      await_clarification: ['question', 'choices'],
      await_external_tools: ['calls.arguments'],
      await_approval: ['arguments', 'digest', 'rendering'],
      await_resolved: ['answered_by', 'note'],
      file_generated: ['filename', 'url'],
    },
  }),
} as const satisfies Record<string, StreamProfile>;
export type ProfileName = keyof typeof PROFILES;
/** By name, where it ships or the application has it; or written out. */
export type ProfileChoice = ProfileName | (string & {}) | StreamProfileInput;

export function profileNames(own: OwnProfiles = new Map()): string[] {
  return [...Object.keys(PROFILES), ...own.keys()];
}

export function isShipped(name: string): name is ProfileName {
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
