/** The gateway: routes, auth, limits and errors put together. It binds no port, and knows nothing of Temporal. */
import { Hono } from 'hono';
import type { Context } from 'hono';
import type { Runs, Threads } from '../client/index.js';
import { PerdureError } from '../contract/errors.js';
import { authenticate } from './auth/authenticate.js';
import type { Auth } from './auth/authenticate.js';
import { checkOrigin } from './auth/page-origin.js';
import { watchCredential } from './auth/watch-credential.js';
import { envelopeError, hasEnvelope } from './envelope.js';
import { errorBody, errorResponse, errorStatus, forCaller } from './error-response.js';
import type { FileLinks } from './file-links.js';
import { DEFAULT_LIMITS } from './limits/gateway-limits.js';
import type { GatewayLimits } from './limits/gateway-limits.js';
import { createRateLimit } from './limits/rate-limit.js';
import { readBody } from './limits/read-body.js';
import { createStreamSlots } from './limits/stream-slots.js';
import type { Logger } from './log.js';
import { createMetrics } from './metrics.js';
import { observeRequests } from './observe-requests.js';
import type { GatewayEnv } from './observe-requests.js';
import { describeRoutes } from './openapi.js';
import { ownRun } from './own-run.js';
import { checkMayWrite, createOwnThread } from './own-thread.js';
import { checkProfilesOf, checkScope, principalKey } from './principal.js';
import type { Principal } from './principal.js';
import type { GatewayRecords, Named, Route, RouteTools } from './route.js';
import { ROUTES } from './routes/table.js';
import type { Catalog } from './shapes/catalog.js';

export interface GatewayOptions {
  runs: Runs;
  threads: Threads;
  records: GatewayRecords;
  artefacts: RouteTools['artefacts'];
  payloads: RouteTools['payloads'];
  /** Makes addresses of files that browsers can open; where it is absent, files come as base64. */
  files?: FileLinks | undefined;
  workerPolls(): Promise<boolean>;
  catalog: Catalog;
  auth: Auth;
  log: Logger;
  limits?: Partial<GatewayLimits>;
  /** Origins whose pages may call, like `https://app.example`; none by default. */
  origins?: readonly string[];
  now?: () => number;
  /** Connections that end now are ended by the gateway. */
  isStopping?: () => boolean;
}

export function createGateway(options: GatewayOptions): Hono<GatewayEnv> {
  const { runs, threads, records, catalog, auth, log, origins = [], now = Date.now } = options;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const metrics = createMetrics();
  const spend = createRateLimit(limits, now);
  const ownThread = createOwnThread(threads);
  const description = describeRoutes(ROUTES, auth.kind === 'on');
  const tools: RouteTools = {
    runs,
    threads,
    records,
    artefacts: options.artefacts,
    payloads: options.payloads,
    files: options.files,
    orgOf: async (runId) => {
      const { run, thread } = await ownRun({ runs, ownThread }, { kind: 'local' }, runId);
      return thread?.owner.org_id ?? run.record.org_id ?? '';
    },
    catalog,
    slots: createStreamSlots(limits.open_streams, metrics.streams),
    whenRevoked: (headers, cut) => watchCredential(() => identify(headers), limits.recheck_ms, cut),
    workerPolls: () => options.workerPolls(),
    isStopping: () => options.isStopping?.() ?? false,
    streamFailed: (run_id, err) => log.error({ run_id, err }, 'stream failed'),
    metrics: () => metrics.read(),
    description: () => description,
  };

  async function identify(headers: Headers): Promise<Principal> {
    return checkProfilesOf(await authenticate(auth, headers), catalog);
  }

  async function admit(route: Route, context: Context<GatewayEnv>): Promise<Principal> {
    if (route.access === 'open') return { kind: 'local' };
    const principal = await identify(context.req.raw.headers);
    context.set('principal', principal);
    spend(principalKey(principal));
    checkScope(principal, route.access);
    return principal;
  }

  async function serve(route: Route, context: Context<GatewayEnv>): Promise<Response> {
    const request = context.req.raw;
    const principal = await admit(route, context);
    const body = takesBody(route) ? await readBody(request, limits.body_bytes) : undefined;
    const named = await checkNamed(route, principal, context);
    const search = new URL(request.url).searchParams;
    const params = context.req.param();
    return route.answer({ tools, principal, request, params, search, body, ...named });
  }

  async function checkNamed(route: Route, principal: Principal, context: Context<GatewayEnv>): Promise<Named> {
    const { run_id, thread_id } = context.req.param();
    const named: Named = run_id === undefined ? {} : await ownRun({ runs, ownThread }, principal, run_id);
    const thread = thread_id === undefined ? named.thread : await ownThread(principal, thread_id);
    // A turn takes answers and cancels of whoever may write to its thread.
    const use = route.use ?? (route.method === 'GET' ? 'read' : 'write');
    if (thread !== undefined && use === 'write') checkMayWrite(principal, thread);
    return { ...named, ...(thread === undefined ? {} : { thread }) };
  }

  const app = new Hono<GatewayEnv>();
  app.use(observeRequests({ log, metrics }));
  app.use(checkOrigin(auth, origins));
  for (const path of new Set(ROUTES.map((route) => route.path))) {
    const routes = ROUTES.filter((route) => route.path === path);
    const pattern = path.replaceAll(/\{(\w+)\}/g, ':$1');
    app.all(pattern, (context) => {
      context.set('route', path);
      const { method } = context.req;
      const route = routes.find((each) => each.method === method || (method === 'HEAD' && hasHead(each)));
      if (route !== undefined) return serve(route, context);
      const allowed = routes.flatMap((each) => (hasHead(each) ? ['GET', 'HEAD'] : [each.method])).join(', ');
      context.header('allow', allowed);
      throw new PerdureError('method_not_allowed', `${path} takes ${allowed}`);
    });
  }
  app.notFound((context) => {
    const hint = /^\/v1\/runs\/./.test(context.req.path) ? ': a "/" in a run id is written %2F' : '';
    return refuse(context, new PerdureError('unknown_route', `there is nothing at this path${hint}`));
  });
  app.onError((error, context) => refuse(context, error));

  function refuse(context: Context<GatewayEnv>, error: unknown): Response {
    const request_id = context.get('request_id');
    const shown = forCaller(error);
    const level = errorStatus(shown) >= 500 ? 'error' : 'debug';
    log[level]({ request_id, code: shown.code, err: error }, 'request refused');
    const makeBody = hasEnvelope(context.req.path) ? envelopeError : errorBody;
    const answer = errorResponse(shown, makeBody(shown, request_id));
    const allow = context.res.headers.get('allow');
    if (allow !== null) answer.headers.set('allow', allow);
    return answer;
  }
  return app;
}

function hasHead({ method, streams }: Route): boolean {
  return method === 'GET' && streams === undefined;
}

function takesBody({ method }: Route): boolean {
  return method === 'POST' || method === 'PUT';
}
