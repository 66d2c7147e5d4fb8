/** The description of the routes, OpenAPI 3.1, made of the table of routes and the schemas that check the requests. */
import { z } from 'zod';
import { ERRORS } from '../contract/errors.js';
import type { ErrorCode } from '../contract/errors.js';
import { BaseMessage, ContentPart } from '../contract/messages.js';
import { RunHandle } from '../contract/run.js';
import type { Reply, Route } from './route.js';
import { AgentSummary, ModelProfileResponse } from './shapes/catalog.js';
import { Accepted, Approval, Clarification, StartRequest, ToolResults } from './shapes/commands.js';
import { EnvelopeError, hasEnvelope } from './envelope.js';
import { ErrorBody } from './shapes/error-body.js';
import { FeedbackRecord, SubmitFeedback } from '../contract/feedback.js';
import { StoredAgent } from '../contract/stored-agent.js';
import { AgentMessage } from '../contract/thread-records.js';
import { ThreadState } from '../contract/thread-summary.js';
import { RunPage } from './shapes/run-list.js';
import { CreateAgent, LaunchAgent, UpdateAgent } from './shapes/stored-agents.js';
import { ListedThread, ThreadDelta, ThreadRecord } from './shapes/thread-answers.js';
import { SendToThread, StartThread, ToolUseResults } from './shapes/thread-requests.js';
import { RunSnapshot, RunTree, Transcript } from './shapes/run-snapshot.js';

/** Schemas with a name of their own in the description; all others are written where they are used. */
const NAMED = {
  RunHandle,
  RunSnapshot,
  RunTree,
  RunPage,
  Transcript,
  BaseMessage,
  Accepted,
  Error: ErrorBody,
  EnvelopeError,
};
const NAMED_TOO = {
  AgentSummary,
  ModelProfileResponse,
  AgentMessage,
  ThreadRecord,
  ListedThread,
  ThreadDelta,
  ThreadState,
  StoredAgent,
  FeedbackRecord,
};
const NAMED_INPUTS = {
  StartThread,
  SendToThread,
  ToolUseResults,
  CreateAgent,
  UpdateAgent,
  LaunchAgent,
  SubmitFeedback,
  StartRequest,
  Clarification,
  ToolResults,
  Approval,
  ContentPart,
};

type Schema = Record<string, unknown>;

export function describeRoutes(routes: readonly Route[], authOn: boolean): object {
  const replies = components({ ...NAMED, ...NAMED_TOO }, 'output');
  const inputs = components(NAMED_INPUTS, 'input');
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    (paths[route.path] ??= {})[route.method.toLowerCase()] = operation(route, replies, inputs);
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Perdure', version: '1', description: 'AI agents as durable runs.' },
    paths,
    components: {
      schemas: { ...inputs.schemas, ...replies.schemas },
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: 'An API key or a JSON Web Token.' } },
    },
    security: authOn ? [{ bearer: [] }] : [],
  };
}

function operation(route: Route, replies: Components, inputs: Components): object {
  return {
    operationId: route.operation,
    summary: route.summary,
    ...(route.deprecated === undefined ? {} : { deprecated: true }),
    ...(route.access === 'open' ? { security: [] } : { description: `Takes the scope \`${route.access}\`.` }),
    parameters: [...pathParameters(route), ...queryParameters(route), ...headerParameters(route)],
    ...(route.body === undefined
      ? {}
      : {
          requestBody: {
            required: !route.body.safeParse(undefined).success,
            content: { 'application/json': { schema: inputs.of(route.body) } },
          },
        }),
    responses: {
      ...Object.fromEntries(Object.entries(route.replies).map(([status, reply]) => [status, response(reply, replies)])),
      ...errorResponses(route, replies),
    },
  };
}

function response({ description, schema, types = [] }: Reply, replies: Components): object {
  const content = {
    ...(schema === undefined ? {} : { 'application/json': { schema: replies.of(schema) } }),
    ...Object.fromEntries(types.map((type) => [type, { schema: { type: 'string' } }])),
  };
  return { description, content };
}

function pathParameters({ path }: Route): object[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    description: 'Percent-encoded: a `/` in it is written `%2F`.',
    schema: { type: 'string' },
  }));
}

function queryParameters({ query }: Route): object[] {
  return Object.entries(query?.shape ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    required: false,
    schema: jsonSchema(schema as z.ZodType, 'input'),
  }));
}

function headerParameters({ headers = {} }: Route): object[] {
  return Object.entries(headers).map(([name, description]) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  }));
}

/** Several codes can share a status. */
function errorResponses(route: Route, replies: Components): Record<string, object> {
  const codes = errorsOf(route);
  const statuses = new Set(codes.map((code) => ERRORS[code].http_status));
  return Object.fromEntries(
    [...statuses].map((status) => {
      const said = codes.filter((code) => ERRORS[code].http_status === status);
      return [
        String(status),
        {
          description: said.map((code) => `\`${code}\`: ${ERRORS[code].advice}`).join(' '),
          content: { 'application/json': { schema: replies.of(hasEnvelope(route.path) ? EnvelopeError : ErrorBody) } },
        },
      ];
    }),
  );
}

function errorsOf({ access, path, use, body, errors = [] }: Route): ErrorCode[] {
  const common: ErrorCode[] = ['invalid_request', 'origin_refused', 'internal'];
  if (access !== 'open') common.push('unauthenticated', 'forbidden', 'rate_limited', 'server_unreachable');
  if (path.includes('{run_id}')) common.push('unknown_run');
  if (path.includes('{thread_id}')) common.push('unknown_thread');
  if (use === 'write') common.push('thread_read_only');
  if (body !== undefined) common.push('input_too_large', 'unsupported_media_type');
  return [...new Set([...common, ...errors])];
}

interface Components {
  schemas: Record<string, Schema>;
  /** The schema itself, or a reference where it has a name. */
  of(schema: z.ZodType): Schema;
}

function components(named: Readonly<Record<string, z.ZodType>>, io: 'input' | 'output'): Components {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const uri = (id: string) => `#/components/schemas/${id}`;
  const { schemas } = z.toJSONSchema(registry, { target: 'draft-2020-12', io, uri });
  const names = new Map(Object.entries(named).map(([id, schema]) => [schema, id]));
  return {
    schemas: Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, bare(schema)])),
    of(schema) {
      const id = names.get(schema);
      return id === undefined ? jsonSchema(schema, io) : { $ref: uri(id) };
    },
  };
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Schema {
  return bare(z.toJSONSchema(schema, { target: 'draft-2020-12', io }));
}

/** Part of a larger document now, which says these itself. */
function bare(schema: object): Schema {
  const { $schema: _schema, $id: _id, ...rest } = schema as Schema;
  return rest;
}
