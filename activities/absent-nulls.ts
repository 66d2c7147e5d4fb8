/**
 * Arguments without the nulls that stand for "left out": a vendor's strict mode has models give every property, null
 * where there is nothing to give. A null that the schema itself allows is a value, and stays.
 */
type Json = Readonly<Record<string, unknown>>;

const MAX_DEPTH = 20;

export function withoutAbsentNulls(value: unknown, schema: Json, root: Json = schema, depth = 0): unknown {
  if (depth > MAX_DEPTH) return value;
  const forms = formsOf(schema, root, depth);
  if (Array.isArray(value)) {
    const items = forms.map((form) => form['items']).find(isObject);
    return items === undefined
      ? value
      : (value as unknown[]).map((item) => withoutAbsentNulls(item, items, root, depth + 1));
  }
  if (!isObject(value)) return value;
  const kept = Object.entries(value).flatMap(([name, given]) => {
    const declaring = forms.filter((form) => isObject(form['properties']) && Object.hasOwn(form['properties'], name));
    if (given === null) return declaring.some((form) => isAbsent(form, name, root, depth)) ? [] : [[name, given]];
    const property = declaring.map((form) => (form['properties'] as Json)[name]).find(isObject);
    return [[name, property === undefined ? given : withoutAbsentNulls(given, property, root, depth + 1)]];
  });
  return Object.fromEntries(kept) as unknown;
}

function isAbsent(form: Json, name: string, root: Json, depth: number): boolean {
  const { required, properties } = form;
  if (Array.isArray(required) && required.includes(name)) return false;
  const property = (properties as Json)[name];
  return isObject(property) && !formsOf(property, root, depth).some(takesNull);
}

function takesNull({ type, enum: values, const: only, ...rest }: Json): boolean {
  if (only !== undefined) return only === null;
  if (Array.isArray(values)) return values.includes(null);
  if (type === undefined) return !('properties' in rest || 'items' in rest);
  return type === 'null' || (Array.isArray(type) && type.includes('null'));
}

/** What a value may be, one by one: unions and references are followed. */
function formsOf(schema: Json, root: Json, depth: number): Json[] {
  if (depth > MAX_DEPTH) return [];
  const { $ref, anyOf, oneOf, allOf } = schema;
  const members = [anyOf, oneOf, allOf]
    .flatMap((union) => (Array.isArray(union) ? (union as unknown[]) : []))
    .filter(isObject);
  if (members.length > 0) return members.flatMap((member) => formsOf(member, root, depth + 1));
  if (typeof $ref !== 'string') return [schema];
  const found = $ref
    .split('/')
    .slice(1)
    .reduce<unknown>(
      (at, key) => (isObject(at) ? at[key.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined),
      root,
    );
  return isObject(found) ? formsOf(found, root, depth + 1) : [];
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
