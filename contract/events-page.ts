/** The reference page of all events, `docs/events.md`: generated from the unions, so that it cannot lag behind them. */
import { z } from 'zod';
import { ChatInvokeUsage } from './completion.js';
import { DurableEvent } from './events.js';
import { LimitName } from './limits.js';
import { LiveEvent, StreamMarker } from './live-events.js';
import { DocumentPart, ImagePart, TextPart, ToolOutputRef } from './messages.js';
import { Cancellation, Failure, RunLink, RunPhase, RunUsage } from './run.js';
import { ToolFailure, ToolFailureKind } from './tools.js';

/** What several events hold gets a section of its own, and a link to it wherever it occurs. */
const SHAPES = {
  RunPhase,
  RunLink,
  RunUsage,
  Failure,
  Cancellation,
  ChatInvokeUsage,
  TextPart,
  ImagePart,
  DocumentPart,
  ToolOutputRef,
  ToolFailure,
  ToolFailureKind,
  LimitName,
};

/** The part of JSON Schema that zod writes for our shapes. */
interface Schema {
  $ref?: string;
  const?: unknown;
  enum?: unknown[];
  type?: string;
  format?: string;
  minimum?: number;
  maximum?: number;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
}

interface Member {
  type: string;
  about: string;
  schema: Schema;
}

const INTRODUCTION = `# Events

This page is generated from \`contract/events.ts\` and \`contract/live-events.ts\` by \`npm run docs\`; a test compares it.

Durable events are the facts of a run, in its log, numbered by \`seq\` without gaps; \`run_completed\` is the last one. Live events are told while something happens and are not kept: the durable event that closes a block has its whole text. Markers are what a stream says besides events. Readers should pass over types and fields that they do not know; existing ones keep their name and meaning.`;

export function eventsPage(): string {
  return [
    INTRODUCTION,
    ...unionSection('Durable events', 'Every durable event has:', membersOf(DurableEvent)),
    ...unionSection('Live events', 'Every live event has:', membersOf(LiveEvent)),
    ...unionSection('Stream markers', 'Every marker has:', membersOf(StreamMarker)),
    '## Shapes',
    ...Object.entries(SHAPES).flatMap(([name, schema]) => shapeSection(name, schemaOf(schema))),
  ]
    .join('\n\n')
    .concat('\n');
}

/** The members of a union, those of nested unions included. */
function membersOf(union: z.core.$ZodType): Member[] {
  if (union instanceof z.ZodDiscriminatedUnion) return union.options.flatMap(membersOf);
  const schema = schemaOf(union);
  const about = union instanceof z.ZodType ? (union.description ?? '') : '';
  return [{ type: String(schema.properties?.['type']?.const), about, schema }];
}

/** With named shapes as references; the shape itself is written out. */
function schemaOf(type: z.core.$ZodType): Schema {
  const names = z.registry<{ id: string }>();
  for (const [id, shape] of Object.entries(SHAPES)) if (shape !== type) names.add(shape, { id });
  return z.toJSONSchema(type, { metadata: names }) as Schema;
}

function unionSection(title: string, common: string, members: Member[]): string[] {
  const shared = Object.keys(members[0]?.schema.properties ?? {}).filter(
    (field) => field !== 'type' && members.every(({ schema }) => field in (schema.properties ?? {})),
  );
  const sections = [`## ${title}`, common, fieldTable(members[0]?.schema ?? {}, (field) => shared.includes(field))];
  for (const type of new Set(members.map((member) => member.type))) {
    const variants = members.filter((member) => member.type === type);
    sections.push(`### \`${type}\``, variants[0]?.about ?? '');
    for (const { schema } of variants) {
      if (variants.length > 1) sections.push(`With \`status\` ${typeText(schema.properties?.['status'] ?? {})}:`);
      const isOwn = (field: string) =>
        field !== 'type' && !shared.includes(field) && !(variants.length > 1 && field === 'status');
      sections.push(fieldTable(schema, isOwn));
    }
  }
  return sections;
}

function shapeSection(name: string, schema: Schema): string[] {
  const isObject = schema.properties !== undefined;
  return [`### ${name}`, isObject ? fieldTable(schema, () => true) : `It is ${typeText(schema)}.`];
}

function fieldTable(schema: Schema, isShown: (field: string) => boolean): string {
  const rows = Object.entries(schema.properties ?? {})
    .filter(([field]) => isShown(field))
    .map(([field, type]) => [`\`${field}\``, typeText(type), schema.required?.includes(field) ? 'yes' : 'no']);
  return table([['field', 'type', 'required'], ...rows]);
}

/** Padded as the formatter pads it. */
function table(rows: string[][]): string {
  const widths = (rows[0] ?? []).map((_cell, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: string[]) => `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [head = [], ...body] = rows;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)].join('\n');
}

function typeText(schema: Schema): string {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
    return `[${name}](#${name.toLowerCase()})`;
  }
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum !== undefined)
    return `one of ${schema.enum.map((value) => `\`${JSON.stringify(value)}\``).join(', ')}`;
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives !== undefined) return alternatives.map(typeText).join(' or ');
  if (schema.type === 'array') {
    const items = typeText(schema.items ?? {});
    return items.includes(' or ') ? `array of (${items})` : `array of ${items}`;
  }
  if (schema.properties !== undefined) {
    const fields = Object.entries(schema.properties).map(
      ([field, type]) => `\`${field}\`${schema.required?.includes(field) ? '' : '?'}: ${typeText(type)}`,
    );
    return `{ ${fields.join(', ')} }`;
  }
  if (schema.format === 'date-time') return 'string, a date and time in ISO 8601';
  if (schema.type === 'number' && schema.maximum !== undefined)
    return `number from ${schema.minimum} to ${schema.maximum}`;
  return schema.type ?? 'any JSON value';
}
