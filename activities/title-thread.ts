/** A title for a thread, by a model, from what was said first. Nobody waits for it, and nothing depends on it. */
import { Context } from '@temporalio/activity';
import type { TitleInput } from '../contract/activities.js';
import { PerdureError } from '../contract/errors.js';
import type { Registry } from '../kit/registry.js';
import type { CallBoard } from '../live/call-board.js';
import { askModel } from './ask-model.js';
import { startHeartbeat } from './heartbeat.js';
import { findProfile } from './resolve-run.js';

const INSTRUCTIONS =
  'You are given the beginning of a conversation. Write a title for it: at most eight words, in the language of ' +
  'the conversation, without quotation marks. Write nothing but the title.';

const MOST_CHARACTERS = 80;

export async function titleThread(
  { registry, calls }: { registry: Registry; calls: CallBoard },
  input: TitleInput,
): Promise<string> {
  const { thread_id, profile, question, answer } = input;
  const context = Context.current();
  const heartbeat = startHeartbeat(context, calls);
  try {
    const { text } = await askModel({ ...heartbeat, attempt: context.info.attempt }, findProfile(registry, profile), {
      instructions: INSTRUCTIONS,
      text: `The user: ${question}\n\nThe assistant: ${answer}`,
      run_id: thread_id,
      step_id: 'title',
      timeout_ms: registry.runtime.model_timeout_ms,
    });
    const title = asTitle(text);
    if (title !== '') return title;
  } finally {
    heartbeat.stop();
  }
  throw new PerdureError('model_no_answer', `model profile "${profile}" wrote no title for thread ${thread_id}`);
}

/** One line without the marks that models like to put around it. */
function asTitle(text: string): string {
  const line = text.trim().split('\n')[0] ?? '';
  const bare = line.replace(/^[\s#*"'“”„«»]+|[\s*"'“”«».]+$/g, '').replace(/\s+/g, ' ');
  return bare.length > MOST_CHARACTERS ? `${bare.slice(0, MOST_CHARACTERS - 1)}…` : bare;
}
