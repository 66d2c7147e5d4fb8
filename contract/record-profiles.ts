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

type Block<T extends AgentContent['content_type']> = Extract<AgentContent, { content_type: T }>;

export function profiledMessage(profile: StreamProfile, message: AgentMessage): AgentMessage {
  if (message.asks !== undefined) return profiledAsking(profile, message, message.asks);
  return { ...message, content: message.content.map((block) => profiledBlock(profile, block)) };
}

/** Whoever may answer must know what is asked: as in the event of the pause. */
function profiledAsking(profile: StreamProfile, message: AgentMessage, asks: AskedPause): AgentMessage {
  const { kind, digest: _digest, ...names } = asks;
  const isShown =
    kind === 'approval'
      ? seen(profile, 'await_approval', { arguments: PROBE })?.arguments === PROBE
      : seen(profile, 'await_clarification', { question: PROBE })?.question === PROBE;
  if (isShown) return message;
  const content = message.content.map((block) => (block.content_type === 'text' ? { ...block, text: '' } : block));
  return { ...message, content, asks: { kind, ...names } };
}

/** What is not in a log of its own, such as a title, is shown with the texts that it is made of. */
export function showsTexts(profile: StreamProfile): boolean {
  return seen(profile, 'text_end', { text: PROBE })?.text === PROBE;
}

/** Their data are the client's own words, and no client can read a goal without them: all of it, or nothing. */
export function showsGoals(profile: StreamProfile): boolean {
  return seen(profile, 'goal_declared', {}) !== undefined;
}

function profiledBlock(profile: StreamProfile, block: AgentContent): AgentContent {
  switch (block.content_type) {
    case 'text':
      return { ...block, text: seen(profile, 'text_end', { text: block.text })?.text ?? '' };
    case 'tool_use':
      return profiledUse(profile, block);
    case 'tool_result':
      return { ...block, raw_response: seenPart(profile, 'tool_result', block.raw_response) };
    case 'error':
      return profiledError(profile, block);
  }
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
