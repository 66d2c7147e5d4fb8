/** Where a thread's request enters: it is validated here, with what of the configuration the thread needs. */
import type { OpenedThread, OpenThreadInput } from '../contract/activities.js';
import { checkThreadRequest } from '../contract/thread-request.js';
import { findAgent, findProfile } from './resolve-run.js';
import type { ResolveDependencies } from './resolve-run.js';

export function openThread({ registry, searchAttributes }: ResolveDependencies, input: OpenThreadInput): OpenedThread {
  const request = checkThreadRequest(input.request);
  // A thread that could never answer is refused at once, not at its first turn.
  const { profile } = findAgent(registry, request.agent_id);
  findProfile(registry, request.model_profile ?? profile);
  const { runtime, thread_title_profile: title_profile, thread_max_bytes: max_bytes, queued_messages } = registry;
  const { continue_as_new_after_events } = runtime;
  return {
    request,
    runtime: {
      ...(continue_as_new_after_events === undefined ? {} : { continue_as_new_after_events }),
      ...(max_bytes === undefined ? {} : { max_bytes }),
      ...(queued_messages === undefined ? {} : { queued_messages }),
    },
    search_attributes: [...searchAttributes],
    ...(title_profile === undefined ? {} : { title_profile }),
    model_profile: request.model_profile ?? profile,
    ...(input.revision === undefined ? {} : { revision: input.revision }),
  };
}
