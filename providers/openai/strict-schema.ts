/**
 * Whether OpenAI's strict mode would take a JSON Schema. It refuses the whole request for one keyword that it does
 * not know, so only what its guide lists passes: https://platform.openai.com/docs/guides/structured-outputs
 */
const KEYWORDS = new Set(
  (
    '$schema $id $ref $defs definitions title description type properties required additionalProperties items enum ' +
    'const anyOf pattern format multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems'
  ).split(' '),
);
const FORMATS: ReadonlySet<unknown> = new Set('date-time time date duration email hostname ipv4 ipv6 uuid'.split(' '));
const MAX_DEPTH = 10;

type Json = Readonly<Record<string, unknown>>;

export function fitsStrictMode(schema: Json): boolean {
  return schema['type'] === 'object' && schema['anyOf'] === undefined && fits(schema, 1);
}

function fits(schema: unknown, depth: number): boolean {
  if (!isObject(schema) || depth > MAX_DEPTH) return false;
  if (Object.keys(schema).some((keyword) => !KEYWORDS.has(keyword))) return false;
  if (schema['format'] !== undefined && !FORMATS.has(schema['format'])) return false;
  if (isObjectType(schema) && !isClosed(schema)) return false;
  const members = [
    ...valuesOf(schema['properties']),
    ...(schema['items'] === undefined ? [] : [schema['items']]),
    ...(Array.isArray(schema['anyOf']) ? schema['anyOf'] : []),
  ];
  const definitions = [...valuesOf(schema['$defs']), ...valuesOf(schema['definitions'])];
  return members.every((member) => fits(member, depth + 1)) && definitions.every((member) => fits(member, 1));
}

function isObjectType(schema: Json): boolean {
  const type = schema['type'];
  return type === 'object' || (Array.isArray(type) && type.includes('object')) || schema['properties'] !== undefined;
}

/** No further properties, and none that may be left out. */
function isClosed(schema: Json): boolean {
  const { properties, required, additionalProperties } = schema;
  if (additionalProperties !== false || !isObject(properties)) return false;
  const names = Array.isArray(required) ? required : [];
  return Object.keys(properties).every((name) => names.includes(name));
}

function valuesOf(value: unknown): unknown[] {
  return isObject(value) ? Object.values(value) : [];
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
