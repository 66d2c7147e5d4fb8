/**
 * Golden files lock the JSON of everything that is stored or sent: what is in `golden/` must be readable for ever.
 *
 * G1  Every member of every union has a golden file, and every golden file a member. `<member>-<variant>.json` is a
 *     further one of the same member.
 * G2  A golden file is what the contract's parser gives back, byte for byte: same fields, same order, same values.
 * G3  Every field that a shape may have, at any depth, is in at least one golden file.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AgentEvent } from '../../contract/agent-events.js';
import { AgentSpec } from '../../contract/agent-spec.js';
import { ChatInvokeCompletion, ChatInvokeUsage, ToolDefinition } from '../../contract/completion.js';
import { DurableEvent, provenance } from '../../contract/events.js';
import { LiveEvent, StreamMarker } from '../../contract/live-events.js';
import { BaseMessage, ToolCall } from '../../contract/messages.js';
import { RunHandle, RunLink, RunOutput, RunRequest } from '../../contract/run.js';
import { TaskStepChunk } from '../../contract/task-steps.js';
import {
  AgentContent,
  AgentMessage,
  AgentThreadDelta,
  AgentThreadGoalRecord,
  AgentThreadRecord,
  ModelProfileResponse,
} from '../../contract/thread-records.js';

const folder = join(import.meta.dirname, 'golden');

const unions: Record<string, z.ZodType> = {
  durable: DurableEvent,
  live: LiveEvent,
  markers: StreamMarker,
  messages: BaseMessage,
  'agent-events': AgentEvent,
  'run-output': RunOutput,
  'task-steps': TaskStepChunk,
  'thread-content': AgentContent,
};

/** Folder by folder: the name of each member and its schema. */
const members: Record<string, Map<string, z.core.$ZodType>> = {
  ...Object.fromEntries(Object.entries(unions).map(([name, union]) => [name, membersOf(union)])),
  shapes: new Map<string, z.core.$ZodType>([
    ['agent_spec', AgentSpec],
    ['completion', ChatInvokeCompletion],
    ['run_handle', RunHandle],
    ['run_link', RunLink],
    ['run_request', RunRequest],
    ['tool_call', ToolCall],
    ['tool_definition', ToolDefinition],
    ['usage', ChatInvokeUsage],
    ['thread_message', AgentMessage],
    ['thread_goal', AgentThreadGoalRecord],
    ['thread_record', AgentThreadRecord],
    ['thread_delta', AgentThreadDelta],
    ['model_profile', ModelProfileResponse],
  ]),
};

describe('the golden files', () => {
  it('are in a folder for each union, and nowhere else', () => {
    expect(readdirSync(folder).toSorted()).toEqual(Object.keys(members).toSorted());
  });

  it('together show every field that any of their shapes may have', () => {
    const seen = new Map<z.ZodObject, Set<string>>();
    for (const name of Object.keys(members)) {
      for (const file of filesOf(name)) visit(schemaFor(name, file), valueOf(name, file), seen);
    }
    const unseen = [...seen].flatMap(([schema, fields]) =>
      Object.keys(schema.shape)
        .filter((field) => !fields.has(field) && !(isEvent(schema) && field in provenance))
        .map((field) => `${nameOf(schema) || Object.keys(schema.shape).join()}: ${field}`),
    );
    expect(unseen).toEqual([]);
  });

  it.each(['durable', 'live'])('show each field of the provenance of %s events', (name) => {
    const shown = new Set(filesOf(name).flatMap((file) => Object.keys(valueOf(name, file) as object)));
    expect(Object.keys(provenance).filter((field) => !shown.has(field))).toEqual([]);
  });
});

describe.each(Object.keys(members))('the golden files in %s/', (name) => {
  it('are there for every member, and none is left over', () => {
    const stems = new Set(filesOf(name).map(memberOf));
    expect([...stems].toSorted()).toEqual([...(members[name]?.keys() ?? [])].toSorted());
  });

  it.each(filesOf(name))('%s is what its name says, and is written again byte for byte once it was read', (file) => {
    const text = readFileSync(join(folder, name, file), 'utf8');
    const member = schemaFor(name, file);
    for (const schema of [member, unions[name] ?? member]) {
      expect(`${JSON.stringify(z.parse(schema, JSON.parse(text)))}\n`).toBe(text);
    }
  });
});

describe('the event parser', () => {
  const started = valueOf('durable', 'run_started.json') as object;

  it('reads an event that has a field from the future', () => {
    expect(DurableEvent.parse({ ...started, from_the_future: 1 })).toEqual(started);
  });

  it.each([
    ['a type that it does not know', { ...started, type: 'run_paused' }],
    ['a missing seq', { ...started, seq: undefined }],
    ['a seq that is no number of an event', { ...started, seq: -1 }],
    ['a time that is no time', { ...started, at: 'yesterday' }],
  ])('refuses an event with %s', (_what, event) => {
    expect(DurableEvent.safeParse(event).success).toBe(false);
  });

  it('refuses a success without an answer, and a failure that reports success', () => {
    const { answer: _answer, ...silent } = valueOf('durable', 'run_completed.success.json') as { answer: string };
    const failed = valueOf('durable', 'run_completed.failed.json') as object;
    expect(DurableEvent.safeParse(silent).success).toBe(false);
    expect(DurableEvent.safeParse({ ...failed, phase: 'completed' }).success).toBe(false);
  });

  it('refuses a spec of a version that it does not know', () => {
    const spec = valueOf('shapes', 'agent_spec.json') as object;
    expect(AgentSpec.safeParse({ ...spec, version: 2 }).success).toBe(false);
  });
});

function filesOf(name: string): string[] {
  return readdirSync(join(folder, name)).toSorted();
}

function valueOf(name: string, file: string): unknown {
  return JSON.parse(readFileSync(join(folder, name, file), 'utf8'));
}

function memberOf(file: string): string {
  return file.replace(/(-[^.]+)?\.json$/, '');
}

function schemaFor(name: string, file: string): z.core.$ZodType {
  const schema = members[name]?.get(memberOf(file));
  if (schema === undefined) throw new Error(`golden/${name}/${file} belongs to no member of its union`);
  return schema;
}

function membersOf(union: z.core.$ZodType): Map<string, z.core.$ZodType> {
  if (!(union instanceof z.ZodDiscriminatedUnion)) return new Map([[nameOf(union), union]]);
  return new Map(union.options.flatMap((option) => [...membersOf(option)]));
}

/** What tells a member from the others, as the file is called: `run_completed.success`. */
function nameOf(schema: z.core.$ZodType): string {
  if (!(schema instanceof z.ZodObject)) return '';
  const literals = ['type', 'content_type', 'role', 'status'].map((field) => schema.shape[field] as unknown);
  return literals.flatMap((literal) => (literal instanceof z.ZodLiteral ? [String(literal.value)] : [])).join('.');
}

function isEvent(schema: z.ZodObject): boolean {
  return 'event_id' in schema.shape || 'live_id' in schema.shape;
}

/** Notes which fields of each object schema a value has, at any depth. */
function visit(schema: z.core.$ZodType, value: unknown, seen: Map<z.ZodObject, Set<string>>): void {
  if (value === undefined || value === null) return;
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    visit(schema.unwrap(), value, seen);
  else if (schema instanceof z.ZodArray) for (const item of value as unknown[]) visit(schema.element, item, seen);
  else if (schema instanceof z.ZodUnion) {
    for (const option of schema.options) if (z.safeParse(option, value).success) visit(option, value, seen);
  } else if (schema instanceof z.ZodObject) {
    const fields = seen.get(schema) ?? new Set();
    seen.set(schema, fields);
    for (const [field, type] of Object.entries(schema.shape)) {
      if (!(field in (value as object))) continue;
      fields.add(field);
      visit(type, (value as Record<string, unknown>)[field], seen);
    }
  }
}
