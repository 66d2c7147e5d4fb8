/** What a run is and has come to: each a projection of its log as the profile shows it. */
import { z } from 'zod';
import { readTree as readRuns } from '../../client/read-tree.js';
import type { RunNode } from '../../client/read-tree.js';
import type { DurableEvent } from '../../contract/events.js';
import type { StreamEvent } from '../../contract/live-events.js';
import { TaskStep } from '../../contract/task-steps.js';
import { projectTranscript } from '../../contract/transcript.js';
import { projectTaskSteps } from '../../dialects/index.js';
import { dressFor } from '../../client/dress-events.js';
import type { Dress } from '../../client/dress-events.js';
import { chooseProfile, orgOf } from '../principal.js';
import { defineRunRoute } from '../route.js';
import { RunSnapshot, RunTree, Transcript } from '../shapes/run-snapshot.js';

const query = z.strictObject({ profile: z.string().optional() });
const TaskSteps = z.strictObject({ run_id: z.string(), steps: z.array(TaskStep) });

export const readRun = defineRunRoute({
  operation: 'readRun',
  method: 'GET',
  path: '/v1/runs/{run_id}',
  summary: 'Where a run stands: phase, steps, tools, pauses, usage, answer.',
  access: 'runs:read',
  query,
  replies: { 200: { description: 'The run.', schema: RunSnapshot } },
  errors: ['forbidden'],
  async handle({ tools, principal, query: { profile }, run }) {
    return Response.json(
      await tools.runs.get(run.run_id, { profile: chooseProfile(tools.catalog, principal, profile) }),
    );
  },
});

export const readTree = defineRunRoute({
  operation: 'readTree',
  method: 'GET',
  path: '/v1/runs/{run_id}/tree',
  summary: 'The run and all below it, each with its phase, usage and pauses.',
  access: 'runs:read',
  query,
  replies: { 200: { description: 'The tree.', schema: RunTree } },
  errors: ['forbidden'],
  async handle({ tools, principal, query: { profile }, run }) {
    const chosen = chooseProfile(tools.catalog, principal, profile);
    return Response.json(treeOf(await readRuns((id) => tools.runs.get(id, { profile: chosen }), run.run_id)));
  },
});

export const readTranscript = defineRunRoute({
  operation: 'readTranscript',
  method: 'GET',
  path: '/v1/runs/{run_id}/transcript',
  summary: 'The conversation of a run.',
  access: 'runs:read',
  query,
  replies: { 200: { description: 'Its messages, in order.', schema: Transcript } },
  errors: ['forbidden'],
  async handle({ tools, principal, query: { profile }, run: { run_id } }) {
    const chosen = chooseProfile(tools.catalog, principal, profile);
    const children = chosen.children === 'flattened' ? 'linked' : chosen.children;
    const events = await readLog(
      tools.runs.stream(run_id, { profile: { ...chosen, children }, follow: false, rest_chunks: false }),
    );
    return Response.json({ run_id, messages: projectTranscript(events) });
  },
});

export const readSteps = defineRunRoute({
  operation: 'readSteps',
  method: 'GET',
  path: '/v1/runs/{run_id}/steps',
  summary: 'The steps of a run, and of those below it where the profile shows their events.',
  access: 'runs:read',
  query,
  replies: { 200: { description: 'Its steps, in the order in which they began.', schema: TaskSteps } },
  errors: ['forbidden'],
  async handle({ tools, principal, query: { profile }, run: { run_id, record } }) {
    const chosen = chooseProfile(tools.catalog, principal, profile);
    const dressing = {
      links: tools.files,
      org: orgOf(principal, record),
      artefacts: tools.artefacts,
      failed: tools.streamFailed,
    };
    const stream = tools.runs.stream(run_id, { profile: chosen, follow: false, rest_chunks: false });
    const events = await readLog(stream, dressFor('task_steps', chosen, dressing));
    return Response.json({ run_id, steps: projectTaskSteps(events, run_id) });
  },
});

async function readLog(stream: AsyncIterable<StreamEvent>, dress?: Dress): Promise<DurableEvent[]> {
  const events: DurableEvent[] = [];
  for await (const event of stream) {
    const told = (await dress?.(event)) ?? event;
    if ('seq' in told) events.push(told);
  }
  return events;
}

function treeOf({ snapshot, children, ...node }: RunNode): RunTree {
  const below = children.map(treeOf);
  if (snapshot === undefined) return { ...node, children: below };
  const { run: _run, tail: _tail, steps: _steps, children: _links, ...standing } = snapshot;
  return { ...node, standing, children: below };
}
