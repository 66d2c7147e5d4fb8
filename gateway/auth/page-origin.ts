/**
 * Pages of other origins. A browser shows a page an answer only where that names the page's origin; so the refusal names
 * it, and nothing else that was not asked for by a listed origin does. Preflights pass for the same reason: they do
 * nothing, and without one the browser would never send the request that is refused.
 */
import { createMiddleware } from 'hono/factory';
import { cors } from 'hono/cors';
import { PerdureError } from '../../contract/errors.js';
import type { Auth } from './authenticate.js';

const FOREIGN_SITES = ['cross-site', 'same-site'];

export function checkOrigin(auth: Auth, origins: readonly string[]) {
  const refuses = (headers: Headers) => isRefused(headers, auth, origins);
  const allow = cors({
    origin: (origin, { req }) =>
      origins.includes(origin) || req.method === 'OPTIONS' || refuses(req.raw.headers) ? origin : null,
    allowMethods: ['GET', 'POST', 'PUT', 'DELETE'],
    allowHeaders: ['authorization', 'content-type', 'idempotency-key', 'last-event-id', 'x-namespace', 'x-request-id'],
    exposeHeaders: ['location', 'perdure-error-code', 'perdure-tail-seq', 'retry-after', 'x-request-id'],
    maxAge: 600,
  });
  return createMiddleware(async (context, next) => {
    const { method, raw } = context.req;
    if (method === 'OPTIONS' && !raw.headers.has('access-control-request-method')) return next();
    return allow(context, async () => {
      if (!refuses(raw.headers)) return next();
      const origin = (raw.headers.get('origin') ?? '').slice(0, 200);
      throw new PerdureError('origin_refused', `pages of the origin "${origin}" may not call this gateway`);
    });
  });
}

/** The browser itself says that a page of another site asks. */
export function isForeignSite(headers: Headers): boolean {
  return FOREIGN_SITES.includes(headers.get('sec-fetch-site') ?? '');
}

function isRefused(headers: Headers, auth: Auth, origins: readonly string[]): boolean {
  const origin = headers.get('origin');
  if (origin === null || origins.includes(origin) || origin === `http://${headers.get('host')}`) return false;
  // With auth a proxy may have changed the host, so that a page of our own looks foreign: only the browser's word counts.
  return auth.kind === 'off' || isForeignSite(headers);
}
