/**
 * A tool's input schema as models may be shown it: what the server declares, as it is, unless a vendor would refuse
 * it. The root must then be an object with properties of its own, without `$ref`, `anyOf`, `oneOf`, `allOf`, `not` or
 * `enum` beside them. What is loosened by that the server still checks.
 */
import type { JSONSchema7 } from '../../contract/completion.js';

/** Schemas that refer to schemas that refer … end here. */
const MAX_DEPTH = 8;
/** So many are taken into the root at most: where each refers to two others, their number doubles with the depth. */
const MAX_PARTS = 1_000;

interface Root {
  readonly schema: JSONSchema7;
  parts: number;
}

export function modelSchema(declared: unknown): JSONSchema7 {
  if (!isSchema(declared)) return { type: 'object' };
  const root = flatten(declared, { schema: declared, parts: 0 }, MAX_DEPTH);
  // A text or a list cannot be called with named arguments: the server will say what it wants.
  if (root['type'] !== undefined && !allowsObject(root['type'])) return { type: 'object' };
  return { ...root, type: 'object' };
}

/** The schema without what only combines others: these are taken into it. */
function flatten(schema: JSONSchema7, root: Root, depth: number): JSONSchema7 {
  root.parts += 1;
  if (root.parts > MAX_PARTS) throw new Error(`its references lead to more than ${MAX_PARTS} schemas`);
  const { $ref, anyOf, oneOf, allOf, not: _not, enum: _enum, ...own } = schema;
  const target = typeof $ref === 'string' ? resolve($ref, root.schema) : undefined;
  const parts = [...(target === undefined ? [] : [target]), ...listOf(allOf)];
  const choices = [...listOf(anyOf), ...listOf(oneOf)];
  if (depth === 0 || (parts.length === 0 && choices.length === 0)) return own;
  const all = parts.map((part) => flatten(part, root, depth - 1));
  const some = choices.map((choice) => flatten(choice, root, depth - 1));
  const objects = some.filter((choice) => choice['type'] === undefined || allowsObject(choice['type']));
  const required = [
    ...all.flatMap(requiredOf),
    // Only what every choice asks for is asked for.
    ...requiredOf(objects[0] ?? {}).filter((name) => objects.every((choice) => requiredOf(choice).includes(name))),
    ...requiredOf(own),
  ];
  const description = own['description'] ?? target?.['description'];
  return {
    ...own,
    ...(description === undefined ? {} : { description }),
    properties: mergeProperties([own, ...all, ...objects]),
    ...(required.length === 0 ? {} : { required: [...new Set(required)] }),
  };
}

/** A property that is declared in several ways may be any of them. */
function mergeProperties(schemas: readonly JSONSchema7[]): JSONSchema7 {
  const found = new Map<string, unknown[]>();
  for (const schema of schemas) {
    const properties = isSchema(schema['properties']) ? schema['properties'] : {};
    for (const [name, property] of Object.entries(properties)) {
      const known = found.get(name) ?? [];
      const isKnown = known.some((other) => JSON.stringify(other) === JSON.stringify(property));
      found.set(name, isKnown ? known : [...known, property]);
    }
  }
  return Object.fromEntries([...found].map(([name, ways]) => [name, ways.length === 1 ? ways[0] : { anyOf: ways }]));
}

/** Of a reference inside the document: `#/$defs/Arguments`. */
function resolve(reference: string, root: JSONSchema7): JSONSchema7 | undefined {
  if (!reference.startsWith('#/')) return undefined;
  let at: unknown = root;
  for (const step of reference.slice(2).split('/')) {
    const name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
    at = isSchema(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  }
  return isSchema(at) ? at : undefined;
}

function allowsObject(type: unknown): boolean {
  return Array.isArray(type) ? type.includes('object') : type === 'object';
}

function requiredOf(schema: JSONSchema7): string[] {
  const { required } = schema;
  return Array.isArray(required) ? required.filter((name): name is string => typeof name === 'string') : [];
}

function listOf(schemas: unknown): JSONSchema7[] {
  return Array.isArray(schemas) ? schemas.filter(isSchema) : [];
}

function isSchema(value: unknown): value is JSONSchema7 {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
