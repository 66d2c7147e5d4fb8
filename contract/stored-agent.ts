/**
 * A stored agent: the request of a thread with holes in it, and the variables that fill them. It is data of an org, and
 * says which agent of the configuration runs its threads. The shape is that of the published Python client
 * (`roboto.ai.agent.record`); `request_template.agent_id` is ours.
 */
import { z } from 'zod';
import { findPlaceholders } from './agent-template.js';
import type { ErrorIssue } from './errors.js';

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
