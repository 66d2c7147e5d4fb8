/** `streamRun` and `streamThread` behind a real socket, with as much of the gateway's routes around it as clients need. */
import type { AddressInfo } from 'node:net';
import type { Server } from 'node:http';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import type { Runs, Threads } from '../../../client/index.js';
import { ERRORS, isPerdureError } from '../../../contract/errors.js';
import type { ProfileName, StreamProfileInput } from '../../../contract/profiles.js';
import { streamRun } from '../../../gateway/stream/stream-run.js';
import type { ReaderContext } from '../../../gateway/stream/respond.js';
import { streamThread } from '../../../gateway/stream/stream-thread.js';
import { testDialects } from './test-dialects.js';

export interface StreamServer {
  readonly url: string;
  /** Streams that were opened and not closed. */
  open(): number;
  readonly failures: unknown[];
  close(): Promise<void>;
}

export interface StreamServerOptions {
  heartbeatMs?: number;
  port?: number;
  threads?: Threads;
}

export async function serveStreams(runs: Runs, options: StreamServerOptions = {}): Promise<StreamServer> {
  const failures: unknown[] = [];
  let open = 0;
  const app = createApp(runs, options.threads, {
    ...(options.heartbeatMs === undefined ? {} : { heartbeatMs: options.heartbeatMs }),
    onOpen: () => void (open += 1),
    onClose: () => void (open -= 1),
    onFailure: (error) => void failures.push(error),
  });
  const server = await new Promise<Server>((resolve) => {
    const listening = serve({ fetch: app.fetch, port: options.port ?? 0, hostname: '127.0.0.1' }, () =>
      resolve(listening as Server),
    );
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    open: () => open,
    failures,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function createApp(runs: Runs, threads: Threads | undefined, context: Partial<ReaderContext>): Hono {
  const app = new Hono();
  const idOf = (path: string) => decodeURIComponent(path);
  app.onError((error, c) => {
    if (!isPerdureError(error)) throw error;
    const { code, message } = error;
    return c.json({ error: { code, message } }, ERRORS[code].http_status as 400);
  });
  app.post('/v1/runs', async (c) => c.json(await runs.start(await c.req.json()), 201));
  app.get('/v1/runs/:id', async (c) => c.json(await runs.get(idOf(c.req.param('id')))));
  const asked = (request: Request) => {
    const query = new URL(request.url).searchParams;
    const name = query.get('profile');
    const children = name === 'childless' ? 'invisible' : 'linked';
    const own: StreamProfileInput = { kinds: {}, default: 'include', children };
    const profile = name === null || name === 'childless' ? own : (name as ProfileName);
    const { signal, headers } = request;
    return { ...context, query, headers, signal, profile };
  };
  app.get('/v1/runs/:id/events', (c) =>
    streamRun({ ...asked(c.req.raw), runs, runId: idOf(c.req.param('id')) }, testDialects),
  );
  if (threads !== undefined) {
    app.get('/v1/threads/:id/events', (c) =>
      streamThread({ ...asked(c.req.raw), runs, threads, threadId: idOf(c.req.param('id')) }, testDialects),
    );
  }
  const command = (path: string, run: (runId: string, body: never) => Promise<void>) =>
    app.post(`/v1/runs/:id/${path}`, async (c) => {
      await run(idOf(c.req.param('id')), (await c.req.json()) as never);
      return c.json({});
    });
  command('cancel', (runId, body) => runs.cancel(runId, body));
  command('clarifications', (runId, body) => runs.answerClarification(runId, body));
  command('tool-results', (runId, body) => runs.submitToolResults(runId, body));
  command('approvals', (runId, body) => runs.decideApproval(runId, body));
  return app;
}
