/** Threads over a gateway with two orgs: ann, bob and the admin ada of acme, and the admin gus of globex. */
import { expect } from 'vitest';
import type { AgentThreadRecord } from '../../../contract/thread-records.js';
import type { GatewayOptions } from '../../../gateway/create-gateway.js';
import { script } from '../../support/test-agents.js';
import { createWorld } from '../../support/world.js';
import type { World } from '../../support/world.js';
import { threadConfig } from '../../threads/thread-world.js';
import { CATALOG, createOrgs, serveFor } from '../gateway-world.js';
import type { Answer, Caller, GatewayWorld, Orgs } from '../gateway-world.js';

export const THREAD_CATALOG: GatewayOptions['catalog'] = {
  ...CATALOG,
  agents: ['test.agent', 'test.bare'].map((agent_id) => ({ agent_id, model_profile: 'script', tools: [] })),
};

export const PATIENT = { requests_per_second: 10_000, request_burst: 10_000 };

export interface ThreadGateway {
  world: World;
  orgs: Orgs;
  gateway: GatewayWorld;
  callers: Record<'ann' | 'bob' | 'ada' | 'gus', Caller>;
  stop(): Promise<void>;
}

export async function createThreadGateway(): Promise<ThreadGateway> {
  const world = await createWorld(threadConfig());
  const orgs = await createOrgs();
  const gateway = await serveFor(world, orgs.auth, { limits: PATIENT, catalog: THREAD_CATALOG });
  const [ann, bob, ada, gus] = [orgs.ann, orgs.bob, orgs.ada, orgs.gus].map((key) => gateway.as(key));
  return {
    world,
    orgs,
    gateway,
    callers: { ann, bob, ada, gus } as ThreadGateway['callers'],
    async stop() {
      await gateway.stop();
      await world.end();
      await orgs.remove();
    },
  };
}

export function threadPath(threadId: string, rest = ''): string {
  return `/v1/ai/threads/${encodeURIComponent(threadId)}${rest}`;
}

/** What an answer is about, which must be good. */
export function dataOf<T = AgentThreadRecord>({ status, text, body }: Answer): T {
  expect(status, text).toBe(200);
  expect(Object.keys(body)).toEqual(['data']);
  return body['data'] as T;
}

export function refusalOf({ status, body, text }: Answer): [number, string, string] {
  const { error_code, message } = body['error'] as { error_code: string; message: string };
  expect(Object.keys(body['error'] as object), text).toEqual(['error_code', 'message']);
  return [status, error_code, message];
}

export function said(text: string) {
  return { role: 'user', content: [{ text }] };
}

/** As the published client writes it. */
export function startBody(turns: Parameters<typeof script>[0], more: object = {}) {
  return {
    client_context: null,
    messages: [said(script(turns))],
    system_prompt: null,
    client_tools: null,
    model_profile: null,
    analysis_scope: null,
    goals: null,
    invoke_skills: [],
    available_skills: null,
    ...more,
  };
}
