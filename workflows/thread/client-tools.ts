/**
 * The tools that a client declares, over all that is said to a thread: each is added, or takes the place of the one of its
 * name. None is ever taken away, as published clients have it.
 */
import { CLIENT_TOOLS, oversized } from '../../contract/sizes.js';
import type { ClientToolSpec } from '../../contract/tools.js';
import { isSince2 } from '../patches.js';
import { refusal } from './refuse-command.js';
import type { Thread } from './thread-state.js';

/** Those that came before the thread was opened were not checked: what would be too many for a turn is left out. */
export function declareTools(thread: Thread, tools: ClientToolSpec[]): void {
  const all = isSince2(thread.opened?.revision) ? merged([thread.client_tools, tools]) : tools;
  const fit = all.length <= CLIENT_TOOLS && oversized({ client_tools: all }) === undefined;
  if (fit || !isSince2(thread.opened?.revision)) thread.client_tools = all;
}

/** Throws where these would be too many, with those that are there and those that wait with their messages. */
export function checkTools({ thread_id, opened, client_tools, queue }: Thread, command: unknown): void {
  const { client_tools: given } = (command ?? {}) as { client_tools?: unknown };
  if (!Array.isArray(given) || given.length === 0 || !isSince2(opened?.revision)) return;
  const all = merged([client_tools, ...queue.map((said) => said.client_tools), given as ClientToolSpec[]]);
  const what = `thread ${thread_id} refused the command: client_tools, with those that were declared before,`;
  if (all.length > CLIENT_TOOLS)
    throw refusal('invalid_request', `${what} would be ${all.length}; at most ${CLIENT_TOOLS} can be declared`);
  const found = oversized({ client_tools: all });
  if (found !== undefined) throw refusal('input_too_large', `${what} ${found.message}`);
}

/** Anyone can send an update, so nothing is taken for granted. */
function merged(lists: readonly (ClientToolSpec[] | null | undefined)[]): ClientToolSpec[] {
  const tools = new Map<string, ClientToolSpec>();
  for (const list of lists) for (const tool of Array.isArray(list) ? list : []) tools.set(String(tool?.name), tool);
  return [...tools.values()];
}
