/**
 * A JSON Schema as a vendor's strict mode takes it. That refuses a whole request for one keyword that it does not know,
 * so only what its guide lists is kept: bounds that it does not know become words of the description, which the model
 * reads, and are checked when the call is made. What cannot be said in the mode at all (open objects, records, tuples)
 * makes a tool that is sent without it.
 *
 * A property that may be left out is required and may be null where the vendor demands that. The nulls are taken out
 * again before the arguments are checked (`activities/parse-arguments.ts`).
 */
export interface StrictRules {
  keywords: ReadonlySet<string>;
  formats: ReadonlySet<unknown>;
  /** What becomes of a property that may be left out. */
  optional: 'nullable' | 'kept';
}

export interface StrictForm {
  schema: Json;
  /** Properties that may be left out, and those of more than one type: vendors limit them. */
  optional: number;
  unions: number;
}

/** They narrow what is allowed, and nothing else: to leave one out lets more through, which is checked later. */
const BOUNDS = new Set(
  (
    'minLength maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems ' +
    'uniqueItems default examples'
  ).split(' '),
);
const SAYING = ['type', 'anyOf', 'oneOf', '$ref', 'enum', 'const'];
const MAX_DEPTH = 10;
const NULL = { type: 'null' };

type Json = Readonly<Record<string, unknown>>;

class Unfit extends Error {}

/** Undefined: the mode cannot take it. */
export function strictForm(schema: Json, rules: StrictRules): StrictForm | undefined {
  if (schema['type'] !== 'object' || schema['anyOf'] !== undefined || schema['oneOf'] !== undefined) return undefined;
  const counted = { optional: 0, unions: 0 };
  try {
    return { schema: convert(schema, rules, counted, 1), ...counted };
  } catch (error) {
    if (error instanceof Unfit) return undefined;
    throw error;
  }
}

type Counted = Omit<StrictForm, 'schema'>;

function convert(given: unknown, rules: StrictRules, counted: Counted, depth: number): Json {
  if (!isObject(given) || depth > MAX_DEPTH) throw new Unfit();
  const { allOf, ...rest } = given;
  // As zod writes a reference that has something beside it.
  if (Array.isArray(allOf) && allOf.length === 1)
    return convert({ ...rest, ...(allOf[0] as object) }, rules, counted, depth);
  // Anything at all: there is no saying it in the mode.
  if (!SAYING.some((keyword) => given[keyword] !== undefined)) throw new Unfit();
  const { schema, hints } = sorted(given, rules);
  const below = (member: unknown) => convert(member, rules, counted, depth + 1);
  const members = given['anyOf'] ?? given['oneOf'];
  if (members !== undefined && !Array.isArray(members)) throw new Unfit();
  if (members !== undefined || Array.isArray(schema['type'])) counted.unions += 1;
  const said = typeof schema['description'] === 'string' ? `${schema['description']} ` : '';
  return {
    ...schema,
    ...(hints.length === 0 ? {} : { description: `${said}(${hints.join(', ')})` }),
    ...(isObjectType(given) ? closed(given, rules, counted, depth) : {}),
    ...(given['items'] === undefined ? {} : { items: below(given['items']) }),
    ...(members === undefined ? {} : { anyOf: members.map(below) }),
    ...definitionsOf('$defs', given, rules, counted),
    ...definitionsOf('definitions', given, rules, counted),
  };
}

/** What the mode knows, and in words what it does not. */
function sorted(given: Json, { keywords, formats }: StrictRules): { schema: Record<string, unknown>; hints: string[] } {
  const schema: Record<string, unknown> = {};
  const hints: string[] = [];
  for (const [keyword, value] of Object.entries(given)) {
    const isKnown = keywords.has(keyword) && (keyword !== 'format' || formats.has(value));
    if (isKnown) schema[keyword] = value;
    else if (BOUNDS.has(keyword))
      hints.push(`${keyword}: ${typeof value === 'string' ? value : JSON.stringify(value)}`);
    else if (keyword !== 'oneOf') throw new Unfit();
  }
  return { schema, hints };
}

function closed(given: Json, rules: StrictRules, counted: Counted, depth: number): Json {
  const { properties, required, additionalProperties } = given;
  if (additionalProperties !== false || !isObject(properties)) throw new Unfit();
  const names = new Set(Array.isArray(required) ? (required as unknown[]) : []);
  const converted = Object.entries(properties).map(([name, property]) => {
    const schema = convert(property, rules, counted, depth + 1);
    if (names.has(name)) return [name, schema] as const;
    if (rules.optional === 'nullable') return [name, nullable(schema)] as const;
    counted.optional += 1;
    return [name, schema] as const;
  });
  const all = rules.optional === 'nullable' ? Object.keys(properties) : [...names];
  return { properties: Object.fromEntries(converted), required: all };
}

function definitionsOf(name: string, given: Json, rules: StrictRules, counted: Counted): Json {
  const definitions = given[name];
  if (!isObject(definitions)) return {};
  const converted = Object.entries(definitions).map(([key, value]) => [key, convert(value, rules, counted, 1)]);
  return { [name]: Object.fromEntries(converted) };
}

function nullable(schema: Json): Json {
  const { description, ...rest } = schema;
  const { type, enum: values, anyOf } = schema;
  if (Array.isArray(anyOf)) {
    return anyOf.some((member) => isObject(member) && member['type'] === 'null')
      ? schema
      : { ...schema, anyOf: [...(anyOf as unknown[]), NULL] };
  }
  if (type === 'null' || (Array.isArray(type) && type.includes('null'))) return schema;
  const isSimple = typeof type === 'string' && type !== 'object' && type !== 'array' && schema['const'] === undefined;
  if (isSimple) {
    return {
      ...schema,
      type: [type, 'null'],
      ...(Array.isArray(values) ? { enum: [...(values as unknown[]), null] } : {}),
    };
  }
  return { ...(description === undefined ? {} : { description }), anyOf: [rest, NULL] };
}

function isObjectType(schema: Json): boolean {
  const type = schema['type'];
  return type === 'object' || (Array.isArray(type) && type.includes('object')) || schema['properties'] !== undefined;
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
