/** Postgres has no place for the character 0 in a text, and both databases are to keep and find the same. */
export function storable(parameter: unknown): unknown {
  return typeof parameter === 'string' ? parameter.replaceAll('\0', '\u{fffd}') : parameter;
}
