/**
 * One step of the schema. A step that was released is never edited: databases have it already. What is to be different
 * becomes the next step, in a file of its own that tells its story, and goes to the end of `all.ts`.
 *
 * While a deployment is under way, processes of the version before work on the new schema. So a step only adds; what
 * no process uses any more is taken away one release later.
 */
export interface Migration {
  /** From 1, without gaps. */
  number: number;
  name: string;
  statements(dialect: 'sqlite' | 'postgres'): readonly string[];
}
