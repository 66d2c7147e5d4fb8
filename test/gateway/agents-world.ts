/** What the tests of stored agents share: a gateway with two agents of the configuration, and templates for them. */
import { expect } from 'vitest';
import type { StoredAgent } from '../../contract/stored-agent.js';
import type { AgentThreadRecord } from '../../contract/thread-records.js';
import type { GatewayOptions } from '../../gateway/create-gateway.js';
import { ROUTES } from '../../gateway/routes/table.js';
import { script } from '../support/test-agents.js';
import type { Answer } from './gateway-world.js';

export const AGENTS_CATALOG: GatewayOptions['catalog'] = {
  agents: ['test.agent', 'test.bare'].map((agent_id) => ({ agent_id, model_profile: 'script', tools: [] })),
  model_profiles: [{ id: 'script', label: 'Script', description: 'A scripted model.', is_default: true }],
};

/** An agent that greets whomever it is told to. */
export function greeter(name: string, more: object = {}) {
  return {
    name,
    request_template: { messages: [{ role: 'user', content: [{ text: script([{ text: 'Hello, {{who}}.' }]) }] }] },
    variables: [{ name: 'who' }],
    ...more,
  };
}

export function agentOf(answer: Answer): StoredAgent {
  expect(answer.status, answer.text).toBe(200);
  return answer.body['data'] as StoredAgent;
}

export function threadOf(answer: Answer): AgentThreadRecord {
  expect(answer.status, answer.text).toBe(200);
  return answer.body['data'] as AgentThreadRecord;
}

export function pageOf(answer: Answer): { items: StoredAgent[]; next_token: string | null } {
  expect(answer.status, answer.text).toBe(200);
  return answer.body['data'] as { items: StoredAgent[]; next_token: string | null };
}

export function refusal({ status, body }: Answer): [number, string, string] {
  const { error_code, message, ...more } = (body['error'] ?? {}) as Record<string, string>;
  // At any further key the published client would crash.
  expect(more).toEqual({});
  return [status, error_code ?? '', message ?? ''];
}

/** What the table promises of a route is what it gives. */
export function isDescribed(operation: string, answer: Answer): void {
  const reply = ROUTES.find((route) => route.operation === operation)?.replies[answer.status];
  expect(reply, `${operation} answered ${answer.status}: ${answer.text}`).toBeDefined();
  expect(reply?.schema?.safeParse(answer.body).error?.issues ?? []).toEqual([]);
}
