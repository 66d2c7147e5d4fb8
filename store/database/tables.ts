/** The tables as the code sees them. What makes them is in `migrations/`. Times of runs are milliseconds since 1970. */
export interface ApiKeysTable {
  id: string;
  hash: string;
  org_id: string;
  user_id: string;
  role: string;
  /** A list, as JSON. */
  profiles: string;
  /** Lists, as JSON. */
  roles: string | null;
  scopes: string | null;
  created_at: string;
  /** A key that is revoked stays, so that no old copy of it can come back. */
  revoked_at: string | null;
}

export interface StoredAgentsTable {
  agent_id: string;
  org_id: string;
  name: string;
  /** The whole agent, as JSON: it may hold what only a newer gateway knows. */
  agent: string;
}

export interface FeedbackTable {
  feedback_id: string;
  org_id: string;
  thread_id: string;
  message_sequence_num: number;
  sentiment: string;
  /** A list, as JSON. */
  categories: string;
  notes: string | null;
  created: string;
  created_by: string;
  modified: string;
  modified_by: string;
}

export interface TakenOverTable {
  /** SHA-256 of what was taken over. */
  mark: string;
  what: string;
  taken_at: string;
}

export interface RunsTable {
  /** In the order of the runs' starts: see `archive/run-order.ts`. */
  id: number;
  run_id: string;
  agent_id: string;
  root_run_id: string;
  parent_run_id: string | null;
  thread_id: string | null;
  org_id: string | null;
  created_by: string | null;
  status: string;
  phase: string;
  started_at: number;
  ended_at: number;
  steps: number;
  tool_calls: number;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number | null;
  model: string | null;
  failure_code: string | null;
  /** Number of events in the log. */
  tail: number;
  /** Null where nobody wrote it down. */
  engine_status: string | null;
  request_digest: string | null;
}

export interface RunTextsTable {
  run: number;
  input: string;
  answer: string | null;
  /** As JSON. */
  metadata: string | null;
}

export interface RunEventsTable {
  run: number;
  first_seq: number;
  /** Events from `first_seq` on, one a line, compressed. */
  events: Uint8Array;
}

export interface RunToolsTable {
  run: number;
  tool_id: string;
  count: number;
  failures: number;
}

export interface DeletionsTable {
  kind: string;
  id: string;
  deleted_at: number;
}

export interface SweepsTable {
  name: string;
  /** Runs that ended before it are in the archive, or in `unarchived`. */
  swept_to: number | null;
  holder: string | null;
  held_until: number;
}

export interface UnarchivedTable {
  run_id: string;
  sweep: string;
  tries: number;
  next_try_at: number;
  why: string;
}

export interface SecretsTable {
  name: string;
  /** As base64url. */
  secret: string;
  created_at: string;
}

export interface SchemaVersionsTable {
  version: number;
  name: string;
  applied_at: string;
}

export interface Tables {
  api_keys: ApiKeysTable;
  stored_agents: StoredAgentsTable;
  feedback: FeedbackTable;
  taken_over: TakenOverTable;
  runs: RunsTable;
  run_texts: RunTextsTable;
  run_events: RunEventsTable;
  run_tools: RunToolsTable;
  deletions: DeletionsTable;
  sweeps: SweepsTable;
  unarchived: UnarchivedTable;
  secrets: SecretsTable;
  schema_versions: SchemaVersionsTable;
}
