/**
 * How much of a JSON Schema that others wrote is taken: enough for any tool, and so little that reading it is never
 * what takes long. Nothing here follows a reference or runs a pattern. No zod here.
 */

/** Characters are those of its JSON, about. */
export const SCHEMA_BOUNDS = { characters: 128 * 1024, depth: 64, values: 10_000, references: 500 } as const;

/** Why a schema is refused; undefined where it is not. */
export function schemaProblem(schema: unknown): string | undefined {
  const { depth, values, references } = SCHEMA_BOUNDS;
  const size = measureJson(schema, SCHEMA_BOUNDS.characters, depth);
  if (size.characters > SCHEMA_BOUNDS.characters)
    return `its schema has more than ${SCHEMA_BOUNDS.characters} characters`;
  if (size.depth > depth) return `its schema is nested more than ${depth} levels deep`;
  if (size.values > values) return `its schema has more than ${values} values`;
  if (size.references > references) return `its schema has more than ${references} references`;
  return undefined;
}

interface JsonSize {
  characters: number;
  depth: number;
  /** Objects, lists, texts, numbers: all of them. */
  values: number;
  /** Of the kind `$ref`. */
  references: number;
}

/** Stops at the first bound that is passed, so it costs no more than that. It does not recurse. */
export function measureJson(json: unknown, mostCharacters: number, mostDepth = Number.POSITIVE_INFINITY): JsonSize {
  const size: JsonSize = { characters: 0, depth: 0, values: 0, references: 0 };
  const open: { value: unknown; depth: number }[] = [{ value: json, depth: 1 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth } = next;
    size.values += 1;
    size.depth = Math.max(size.depth, depth);
    size.characters += typeof value === 'string' ? value.length + 2 : 4;
    if (size.characters > mostCharacters || size.depth > mostDepth) break;
    if (typeof value !== 'object' || value === null) continue;
    for (const key in value) {
      if (!Array.isArray(value)) size.characters += key.length + 4;
      if (REFERENCES.has(key)) size.references += 1;
      open.push({ value: (value as Record<string, unknown>)[key], depth: depth + 1 });
      if (size.characters + open.length * 4 > mostCharacters) break;
    }
  }
  // What was left to look at has passed the bound as well.
  size.characters += open.length * 4;
  return size;
}

const REFERENCES: ReadonlySet<string> = new Set(['$ref', '$dynamicRef', '$recursiveRef']);
