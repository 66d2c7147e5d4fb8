/** For whoever operates the gateway, and for tools that read its description. */
import { z } from 'zod';
import { PerdureError } from '../../contract/errors.js';
import { defineRoute } from '../route.js';

const Ok = z.strictObject({ status: z.literal('ok') });

export const health = defineRoute({
  operation: 'health',
  method: 'GET',
  path: '/healthz',
  summary: 'The gateway runs.',
  access: 'open',
  replies: { 200: { description: 'It does.', schema: Ok } },
  handle: () => Response.json({ status: 'ok' }),
});

export const ready = defineRoute({
  operation: 'ready',
  method: 'GET',
  path: '/readyz',
  summary: 'The Temporal server answers, and a worker takes runs.',
  access: 'open',
  replies: { 200: { description: 'Both are there.', schema: Ok } },
  errors: ['not_ready'],
  async handle({ tools }) {
    const polls = await tools.workerPolls().catch((cause: unknown) => {
      throw new PerdureError('not_ready', 'the Temporal server gives no answer', { cause });
    });
    if (!polls) throw new PerdureError('not_ready', 'no worker polls the task queue');
    return Response.json({ status: 'ok' });
  },
});

export const metrics = defineRoute({
  operation: 'metrics',
  method: 'GET',
  path: '/metrics',
  summary: 'Counters of the gateway, for Prometheus.',
  access: 'metrics',
  replies: { 200: { description: 'In Prometheus’ text format.', types: ['text/plain'] } },
  errors: ['forbidden'],
  async handle({ tools }) {
    const { text, type } = await tools.metrics();
    return new Response(text, { headers: { 'content-type': type } });
  },
});

export const openapi = defineRoute({
  operation: 'openapi',
  method: 'GET',
  path: '/openapi.json',
  summary: 'This description.',
  access: 'open',
  replies: { 200: { description: 'OpenAPI 3.1.', schema: z.looseObject({ openapi: z.string() }) } },
  handle: ({ tools }) => Response.json(tools.description()),
});
