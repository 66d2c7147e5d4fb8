/**
 * Whether a vendor's strict mode would take a JSON Schema. It refuses the whole request for one keyword that it does
 * not know, so only what its guide lists passes. No property may be left out: the vendors limit or refuse those.
 */
export interface StrictRules {
  keywords: ReadonlySet<string>;
  formats: ReadonlySet<unknown>;
}

const MAX_DEPTH = 10;

type Json = Readonly<Record<string, unknown>>;

export function fitsStrictMode(schema: Json, rules: StrictRules): boolean {
  return schema['type'] === 'object' && schema['anyOf'] === undefined && fits(schema, rules, 1);
}

function fits(schema: unknown, rules: StrictRules, depth: number): boolean {
  if (!isObject(schema) || depth > MAX_DEPTH) return false;
  if (Object.keys(schema).some((keyword) => !rules.keywords.has(keyword))) return false;
  if (schema['format'] !== undefined && !rules.formats.has(schema['format'])) return false;
  if (isObjectType(schema) && !isClosed(schema)) return false;
  const members = [
    ...valuesOf(schema['properties']),
    ...(schema['items'] === undefined ? [] : [schema['items']]),
    ...(Array.isArray(schema['anyOf']) ? schema['anyOf'] : []),
  ];
  const definitions = [...valuesOf(schema['$defs']), ...valuesOf(schema['definitions'])];
  return (
    members.every((member) => fits(member, rules, depth + 1)) && definitions.every((member) => fits(member, rules, 1))
  );
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
