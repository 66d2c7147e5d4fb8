/**
 * A thread's messages as an audience of its runs may see them. Each block is made of an event of a run's log, and shows
 * what the profile shows of that event: `profiles.ts` alone knows what that is.
 *
 * Blocks are blanked and never left out: readers count them, and put texts together that follow each other.
 */
import type { DurableEvent, DurableEventType, EventOf } from './events.js';
import { isClientToolId } from './ids.js';
import { applyProfile } from './profiles.js';
import type { StreamProfile } from './profiles.js';
import type { AgentContent, AgentMessage, AskedPause } from './thread-records.js';

const PROBE = 'probe';
const PROBE_RESULT = { content: PROBE, value: PROBE, failure: { message: PROBE } };

type Block<T extends AgentContent['content_type']> = Extract<AgentContent, { content_type: T }>;

export function profiledMessage(profile: StreamProfile, message: AgentMessage): AgentMessage {
  const { asks, ...rest } = message;
  const content = message.content.map((block) => profiledBlock(profile, block, asks));
  if (asks === undefined) return { ...rest, content };
  return { ...rest, content, asks: profiledAsks(profile, asks) };
}

/** Whoever may answer must know what is asked: as in the event of the pause. */
function isAskShown(profile: StreamProfile, { kind }: AskedPause): boolean {
  return kind === 'approval'
    ? seen(profile, 'await_approval', { arguments: PROBE })?.arguments === PROBE
    : seen(profile, 'await_clarification', { question: PROBE })?.question === PROBE;
}

function profiledAsks(profile: StreamProfile, asks: AskedPause): AskedPause {
  if (isAskShown(profile, asks)) return asks;
  const { digest: _digest, ...names } = asks;
  return names;
}

/** What is not in a log of its own, such as a title, is shown with the texts that it is made of. */
export function showsTexts(profile: StreamProfile): boolean {
  return seen(profile, 'text_end', { text: PROBE })?.text === PROBE;
}

/** Their data are the client's own words, and no client can read a goal without them: all of it, or nothing. */
export function showsGoals(profile: StreamProfile): boolean {
  return seen(profile, 'goal_declared', {}) !== undefined;
}

/** `asked` is what the message asks: of one that was stored up to 0.7. */
function profiledBlock(profile: StreamProfile, block: AgentContent, asked: AskedPause | undefined): AgentContent {
  switch (block.content_type) {
    case 'text':
      return profiledText(profile, block, asked);
    case 'tool_use':
      return profiledUse(profile, block);
    case 'tool_result':
      return profiledResult(profile, block);
    case 'error':
      return profiledError(profile, block);
  }
}

function profiledText(
  profile: StreamProfile,
  { asks, ...block }: Block<'text'>,
  asked: AskedPause | undefined,
): Block<'text'> {
  const about = asks ?? asked;
  if (about === undefined) return { ...block, text: seen(profile, 'text_end', { text: block.text })?.text ?? '' };
  const text = isAskShown(profile, about) ? block.text : '';
  return { ...block, text, ...(asks === undefined ? {} : { asks: profiledAsks(profile, asks) }) };
}

function profiledResult(profile: StreamProfile, { told, ...block }: Block<'tool_result'>): Block<'tool_result'> {
  // Up to 0.7 it was made of the event's fields.
  if (told === undefined) return { ...block, raw_response: seenPart(profile, 'tool_result', block.raw_response) };
  const shown = seenPart(profile, 'tool_result', told) as typeof told | null;
  const { content, value, failure } = (seenPart(profile, 'tool_result', PROBE_RESULT) ?? {}) as Partial<
    typeof PROBE_RESULT
  >;
  const isShown = content === PROBE && (told.failure === undefined ? value === PROBE : failure?.message === PROBE);
  return { ...block, raw_response: isShown ? block.raw_response : null, ...(shown === null ? {} : { told: shown }) };
}

function profiledUse(profile: StreamProfile, block: Block<'tool_use'>): Block<'tool_use'> {
  const raw_request = seenPart(profile, 'tool_requested', block.raw_request);
  const args = { arguments: PROBE };
  if (seen(profile, 'tool_requested', args)?.arguments === PROBE) return { ...block, raw_request };
  // Whoever is to run a tool must know with what.
  const isAsked = seen(profile, 'await_external_tools', { calls: [args] })?.calls[0]?.arguments === PROBE;
  const { name, arguments: asked } = block.raw_request ?? {};
  if (isAsked && typeof name === 'string' && isClientToolId(name))
    return { ...block, raw_request: { ...raw_request, arguments: asked } };
  return { ...block, input: raw_request === null ? null : {}, raw_request };
}

/** That an answer was cancelled, and why, is in every profile. */
function profiledError(profile: StreamProfile, block: Block<'error'>): Block<'error'> {
  if (block.error_code === 'cancelled') return block;
  const end = seen(profile, 'run_completed', { status: 'failed', failure: { message: block.error_message } });
  return { ...block, error_message: end?.status === 'failed' ? end.failure.message : '' };
}

function seenPart(
  profile: StreamProfile,
  type: DurableEventType,
  part: Record<string, unknown> | null,
): Record<string, unknown> | null {
  if (part === null) return null;
  const shown = seen(profile, type, part);
  if (shown === undefined) return null;
  const { type: _type, ...fields } = shown as Record<string, unknown> & { type: string };
  return fields;
}

/** A profile looks at the fields that it knows, so an event of which there is only a part will do. */
function seen<T extends DurableEventType>(profile: StreamProfile, type: T, part: object): EventOf<T> | undefined {
  return applyProfile(profile, { type, ...part } as unknown as DurableEvent) as EventOf<T> | undefined;
}
