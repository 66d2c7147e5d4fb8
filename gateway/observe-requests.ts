/** Around every request: an id, the headers that every answer has, a line in the log, the counters. */
import { randomUUID } from 'node:crypto';
import { createMiddleware } from 'hono/factory';
import type { Logger } from './log.js';
import type { Metrics } from './metrics.js';
import type { Principal } from './principal.js';

export interface GatewayVariables {
  request_id: string;
  /** The pattern of the path that was found. */
  route?: string;
  principal?: Principal;
}
export interface GatewayEnv {
  Variables: GatewayVariables;
}

const REQUEST_ID_PATTERN = /^[A-Za-z0-9._-]{1,64}$/;

const SECURITY_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

export function observeRequests({ log, metrics }: { log: Logger; metrics: Metrics }) {
  return createMiddleware<GatewayEnv>(async (context, next) => {
    const given = context.req.header('x-request-id') ?? '';
    const request_id = REQUEST_ID_PATTERN.test(given) ? given : randomUUID();
    context.set('request_id', request_id);
    const began = performance.now();
    await next();
    const { res: answer } = context;
    answer.headers.set('x-request-id', request_id);
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) {
      // A stream may say more of caching than we do.
      if (!answer.headers.has(name)) answer.headers.set(name, value);
    }
    const { method } = context.req;
    const route = context.get('route') ?? 'none';
    const seconds = (performance.now() - began) / 1_000;
    metrics.answered({ method, route, status: answer.status, seconds });
    const principal = context.get('principal');
    const who = principal?.kind === 'member' ? { org_id: principal.org_id, user_id: principal.user_id } : {};
    log.info({ request_id, method, route, status: answer.status, ms: Math.round(seconds * 1_000), ...who }, 'request');
  });
}
