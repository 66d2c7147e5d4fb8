/** What callers write of stored agents, as the published Python client sends it. */
import { z } from 'zod';
import { VARIABLE_NAME_PATTERN } from '../../contract/agent-template.js';
import { CHARACTER_LIMITS } from '../../contract/sizes.js';
import type { StoredAgent } from '../../contract/stored-agent.js';
import { ThreadVisibility } from '../../contract/thread-records.js';
import { StartThread } from './thread-requests.js';

const MOST_VARIABLES = 100;

/** All values are texts; the other types are ids of things that only the application knows. */
const TemplateVariable = z
  .strictObject({
    name: z
      .string()
      .max(CHARACTER_LIMITS.variable_name)
      .regex(VARIABLE_NAME_PATTERN, 'must begin with a letter or _, and go on in letters, digits, _ and .'),
    type: z.enum(['string', 'dataset_id', 'device_id', 'collection_id']).default('string'),
    description: z.string().max(CHARACTER_LIMITS.agent_description).nullable().default(null),
    required: z.boolean().default(true),
    default: z.string().nullable().default(null),
    collection_content_type: z.enum(['dataset', 'event', 'file', 'session']).nullable().default(null),
  })
  .refine((variable) => variable.required || variable.default !== null, {
    path: ['default'],
    message: 'must be there where the variable is not required',
  })
  .refine((variable) => variable.collection_content_type === null || variable.type === 'collection_id', {
    path: ['collection_content_type'],
    message: 'is for variables of the type "collection_id" only',
  });

/** The body of a start, with `{{name}}` in its texts; metadata is for whoever starts a thread to say. */
export const RequestTemplate = StartThread.omit({ thread_id: true, session_id: true, chat_id: true, metadata: true })
  .refine(({ messages, goals }) => (messages?.length ?? 0) > 0 || (goals?.length ?? 0) > 0, {
    path: ['messages'],
    message: 'must hold a message, unless there are goals',
  })
  .refine(({ messages }) => (messages?.at(-1)?.role ?? 'user') === 'user', {
    path: ['messages'],
    message: 'must end with one of the user, for the agent to answer',
  });
export type RequestTemplate = z.output<typeof RequestTemplate>;

const name = z.string().min(1, 'must not be empty').max(CHARACTER_LIMITS.agent_name);
const description = z.string().max(CHARACTER_LIMITS.agent_description).nullable();
const variables = z.array(TemplateVariable).max(MOST_VARIABLES, `at most ${MOST_VARIABLES}`);

export const CreateAgent = z.strictObject({
  name,
  description: description.default(null),
  request_template: RequestTemplate,
  variables: variables.default([]),
});

/** What is absent stays as it is. */
export const UpdateAgent = z.strictObject({
  name: name.exactOptional(),
  description: description.exactOptional(),
  request_template: RequestTemplate.exactOptional(),
  variables: variables.exactOptional(),
});

export const LaunchAgent = z.strictObject({
  values: z.record(z.string(), z.string('must be a text')).default({}),
  visibility: ThreadVisibility.default('org').describe('Whatever the template says: an agent is there to be shared.'),
  analysis_scope: StartThread.shape.analysis_scope.describe('Laid over the template’s, field by field.'),
});

export const AgentQuery = z.strictObject({ page_token: z.string().optional() });
export const AgentDeleted = z.strictObject({ agent_id: z.string() });

/** Without what says nothing, and in the newer spelling: what is read back is what the client's defaults make of it. */
export function storedTemplate({ context, ...template }: RequestTemplate): StoredAgent['request_template'] {
  const spelled = { ...template, client_context: template.client_context ?? context };
  const isEmpty = (value: unknown) => value == null || (Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(spelled).filter(([, value]) => !isEmpty(value)));
}
