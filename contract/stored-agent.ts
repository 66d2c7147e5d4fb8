/**
 * A stored agent: the request of a thread with holes in it, and the variables that fill them. It is data of an org, and
 * says which agent of the configuration runs its threads. The shapes are those of the published Python client
 * (`roboto.ai.agent.record`); `request_template.agent_id` is ours.
 */
import { z } from 'zod';
import { AgentId } from './agent-spec.js';
import { findPlaceholders, VARIABLE_NAME_PATTERN } from './agent-template.js';
import type { ErrorIssue } from './errors.js';
import { MAX_GOALS_PER_TURN } from './thread-commands.js';
import { ThreadVisibility } from './thread-records.js';
import { MessageInput } from './thread-request.js';
import { ClientToolSpec } from './tools.js';

const NAME_CHARACTERS = 200;
const DESCRIPTION_CHARACTERS = 10_000;

/** All values are texts; the other types are ids of things that only the application knows. */
export const TemplateVariable = z
  .strictObject({
    name: z
      .string()
      .regex(VARIABLE_NAME_PATTERN, 'must begin with a letter or _, and go on in letters, digits, _ and .'),
    type: z.enum(['string', 'dataset_id', 'device_id', 'collection_id']).default('string'),
    description: z.string().nullable().default(null),
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
export type TemplateVariable = z.infer<typeof TemplateVariable>;

/** `{"goal_type": "…", …}` with the goal's data beside its type, or under `goal_data`. */
const TemplateGoal = z.looseObject({ goal_type: z.string().min(1) });

const someJson = z.record(z.string(), z.unknown()).nullish();
const noSkills = z.array(z.never('skills are not supported: leave it out')).nullish();

/** The body of a start, with placeholders in its texts. */
export const RequestTemplate = z.strictObject({
  /** Of the configuration; the default one where it is absent. */
  agent_id: AgentId.optional(),
  messages: z.array(MessageInput).default([]),
  goals: z.array(TemplateGoal).max(MAX_GOALS_PER_TURN, `at most ${MAX_GOALS_PER_TURN} per turn`).nullish(),
  client_tools: z.array(ClientToolSpec).nullish(),
  model_profile: z.string().nullish(),
  system_prompt: z.string().nullish(),
  client_context: someJson,
  analysis_scope: someJson,
  invoke_skills: noSkills,
  available_skills: noSkills,
  /** Kept, and without effect: a launch says it. */
  visibility: ThreadVisibility.optional(),
});
export type RequestTemplate = z.infer<typeof RequestTemplate>;

const fields = {
  name: z.string().min(1, 'must not be empty').max(NAME_CHARACTERS),
  description: z.string().max(DESCRIPTION_CHARACTERS).nullable(),
  request_template: RequestTemplate,
  variables: z.array(TemplateVariable),
};

export const CreateAgent = z.strictObject({
  ...fields,
  description: fields.description.default(null),
  variables: fields.variables.default([]),
});
export type CreateAgent = z.infer<typeof CreateAgent>;

/** What is absent stays as it is. */
export const UpdateAgent = z.strictObject({ ...fields }).partial();
export type UpdateAgent = z.infer<typeof UpdateAgent>;

export const LaunchAgent = z.strictObject({
  values: z.record(z.string(), z.string()).default({}),
  /** An agent is there to be shared, and so are its threads. */
  visibility: ThreadVisibility.default('org'),
  /** Laid over the template's, field by field. */
  analysis_scope: someJson,
});
export type LaunchAgent = z.infer<typeof LaunchAgent>;

/** As it is kept and given out: checked when it came in, and it may hold what only a newer gateway knows. */
export const StoredAgent = z.looseObject({
  agent_id: z.string(),
  org_id: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  request_template: z.record(z.string(), z.unknown()),
  variables: z.array(
    z.looseObject({
      name: z.string(),
      type: z.string(),
      description: z.string().nullable(),
      required: z.boolean(),
      default: z.string().nullable(),
      collection_content_type: z.string().nullable(),
    }),
  ),
  created: z.iso.datetime(),
  created_by: z.string(),
  modified: z.iso.datetime(),
  modified_by: z.string(),
});
export type StoredAgent = z.infer<typeof StoredAgent>;
/** What its author says of it. */
export type AgentContents = Pick<StoredAgent, 'name' | 'description' | 'request_template' | 'variables'>;

/** Version history: 1 first shape. */
export const StoredAgentFile = z.object({ version: z.literal(1), agents: z.array(StoredAgent) });
export type StoredAgentFile = z.infer<typeof StoredAgentFile>;

/** Without what says nothing, so that what is read back is what the client's own defaults make of it. */
export function plainTemplate(template: RequestTemplate): StoredAgent['request_template'] {
  const isEmpty = (value: unknown) => value == null || (Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(template).filter(([, value]) => !isEmpty(value)));
}

/** What is wrong between a template and its variables: each placeholder is declared, and each variable used, once. */
export function variableIssues({ request_template, variables }: AgentContents): ErrorIssue[] {
  const { found, inKeys } = findPlaceholders(request_template, 'request_template');
  const issues = inKeys.map((path) => ({ path, message: 'a placeholder cannot be in a key' }));
  const declared = new Set(variables.map(({ name }) => name));
  for (const { name, path } of found) {
    if (!declared.has(name)) issues.push({ path, message: `{{${name}}} is not among the variables` });
  }
  const used = new Set(found.map(({ name }) => name));
  variables.forEach(({ name }, n) => {
    const path = `variables.${n}.name`;
    const first = variables.findIndex((other) => other.name === name);
    if (first < n) issues.push({ path, message: `"${name}" is there twice` });
    else if (!used.has(name)) issues.push({ path, message: `"${name}" is not used in the template` });
  });
  return issues;
}
