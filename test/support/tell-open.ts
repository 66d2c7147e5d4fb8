/**
 * When a test fails, tells what the open workflows of its worlds did until then: a run that hangs once in a hundred test
 * runs can be understood from the output alone.
 */
import type { Client } from '@temporalio/client';
import { afterEach } from 'vitest';

interface Watched {
  temporal: Client;
  server: { taskQueue: string };
}

const MOST_WORKFLOWS = 8;
const LAST_EVENTS = 40;
const DEADLINE_MS = 10_000;

const worlds = new Set<Watched>();

/** Returns what ends it. */
export function tellOpenOf(world: Watched): () => void {
  worlds.add(world);
  return () => worlds.delete(world);
}

afterEach(async ({ task }) => {
  if (task.result?.state !== 'fail') return;
  for (const world of worlds) {
    // The test has failed already, and by something else: this must not hide it.
    const told = await openOf(world).catch((error: unknown) => [`its workflows cannot be told: ${String(error)}`]);
    for (const text of told) process.stderr.write(`${task.name}: ${text}\n`);
  }
});

async function openOf({ temporal, server }: Watched): Promise<string[]> {
  return temporal.withDeadline(Date.now() + DEADLINE_MS, async () => {
    const query = `TaskQueue = '${server.taskQueue}' AND ExecutionStatus = 'Running'`;
    const told: string[] = [];
    for await (const { workflowId } of temporal.workflow.list({ query })) {
      if (told.length === MOST_WORKFLOWS) break;
      told.push(await tellWorkflow(temporal, workflowId));
    }
    return told;
  });
}

/** What is pending in a workflow, and the end of its history, a line for each event. */
export async function tellWorkflow(temporal: Client, workflowId: string): Promise<string> {
  const handle = temporal.workflow.getHandle(workflowId);
  const { raw } = await handle.describe();
  const { events } = await handle.fetchHistory();
  const lines = (events ?? []).slice(-LAST_EVENTS).map((event) => {
    const attributes = Object.keys(event).find((key) => key.endsWith('EventAttributes')) ?? '';
    const failure = event.workflowTaskFailedEventAttributes?.failure?.message ?? '';
    return `${at(event.eventTime?.seconds)} ${attributes.replace('EventAttributes', '')} ${failure}`.trimEnd();
  });
  const task = raw.pendingWorkflowTask;
  const pending = [
    ...(task == null ? [] : [`pending: workflow task, ${String(task.state)}, attempt ${task.attempt}`]),
    ...(raw.pendingActivities ?? []).map(
      ({ activityType, state, attempt, lastFailure, lastStartedTime }) =>
        `pending: ${activityType?.name}, ${String(state)}, attempt ${attempt}, begun ${at(lastStartedTime?.seconds)} ${lastFailure?.message ?? ''}`,
    ),
    ...(raw.pendingChildren ?? []).map((child) => `pending: child ${child.workflowId}`),
  ];
  return [`${workflowId}, now ${at(Date.now() / 1_000)}`, ...lines, ...pending].join('\n  ');
}

function at(seconds: unknown): string {
  return seconds == null ? 'never' : new Date(Number(seconds) * 1_000).toISOString().slice(11, 19);
}
