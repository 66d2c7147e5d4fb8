/**
 * The closed table of errors: what each code means for a retry, for HTTP and for the person who reads it.
 * Retry is decided here and nowhere else. No zod here. Errors cross the sandbox's realm, so check `code`, never
 * `instanceof`.
 */

interface ErrorEntry {
  retry: boolean;
  http_status: number;
  /** What to do next; ends every message. */
  advice: string;
}

export const ERRORS = {
  invalid_request: { retry: false, http_status: 400, advice: 'Correct what is named and try again.' },
  invalid_config: { retry: false, http_status: 500, advice: 'Correct the named fields in the configuration.' },
  input_too_large: {
    retry: false,
    http_status: 413,
    advice: 'Shorten the input, or put large files into the artefact store and refer to them.',
  },
  unknown_agent: { retry: false, http_status: 404, advice: 'Use one of the agents that this worker has.' },
  unknown_profile: { retry: false, http_status: 404, advice: 'Use one of the model profiles of the configuration.' },
  unknown_run: { retry: false, http_status: 404, advice: 'Check the run id, the namespace and the retention.' },
  unknown_artefact: {
    retry: false,
    http_status: 404,
    advice: 'Use an id that an event of this run names, as your profile shows it.',
  },
  link_refused: {
    retry: false,
    http_status: 403,
    advice: 'Read the run again: its stream has a new address of the file.',
  },
  unknown_thread: {
    retry: false,
    http_status: 404,
    advice: 'Check the thread id; a deleted thread does not come back.',
  },
  thread_exists: {
    retry: false,
    http_status: 409,
    advice: 'Choose another thread id, or go on with the thread that has it.',
  },
  thread_busy: {
    retry: false,
    http_status: 409,
    advice: 'Wait until the turn is over, or send it with on_busy "enqueue" or "interrupt".',
  },
  thread_full: {
    retry: false,
    http_status: 409,
    advice: 'Start another thread, or fork this one at an earlier message.',
  },
  thread_read_only: {
    retry: false,
    http_status: 403,
    advice: 'Fork it, and go on in the fork.',
  },
  unknown_message: {
    retry: false,
    http_status: 404,
    advice: 'Read the thread, and count its messages from 0.',
  },
  unknown_stored_agent: {
    retry: false,
    http_status: 404,
    advice: 'Check the id or the name, and the org; a deleted agent does not come back.',
  },
  agent_exists: {
    retry: false,
    http_status: 409,
    advice: 'Choose another name, or update the agent that has it.',
  },
  unknown_route: { retry: false, http_status: 404, advice: 'See /openapi.json for what there is.' },
  unauthenticated: {
    retry: false,
    http_status: 401,
    advice: 'Send a valid key or token as "Authorization: Bearer …".',
  },
  forbidden: { retry: false, http_status: 403, advice: 'Use a credential that may do this.' },
  origin_refused: {
    retry: false,
    http_status: 403,
    advice: 'Start the gateway with this origin in --cors-origins (or PERDURE_CORS_ORIGINS).',
  },
  method_not_allowed: { retry: false, http_status: 405, advice: 'Use a method that the Allow header names.' },
  request_timeout: { retry: false, http_status: 408, advice: 'Send the whole request without long breaks.' },
  idempotency_conflict: {
    retry: false,
    http_status: 409,
    advice: 'Send the same request again, or use another key or run id.',
  },
  unsupported_media_type: {
    retry: false,
    http_status: 415,
    advice: 'Send JSON, with "Content-Type: application/json".',
  },
  rate_limited: { retry: true, http_status: 429, advice: 'Wait as long as the Retry-After header says.' },
  too_many_connections: {
    retry: true,
    http_status: 429,
    advice: 'Close a connection from this address, or use one again.',
  },
  too_many_streams: { retry: true, http_status: 429, advice: 'Close a stream, then open this one.' },
  headers_too_large: { retry: false, http_status: 431, advice: 'Send fewer or shorter headers.' },
  run_exists: { retry: false, http_status: 409, advice: 'Choose another run id, or watch the run that has it.' },
  run_ended: { retry: false, http_status: 409, advice: 'Read the result; an ended run takes no more commands.' },
  budget_exhausted: {
    retry: false,
    http_status: 429,
    advice: 'Raise the limits of the tree, or ask for less.',
  },
  not_ready: { retry: true, http_status: 503, advice: 'Wait until the Temporal server and a worker are up.' },
  server_unreachable: {
    retry: true,
    http_status: 503,
    advice: 'Check the address, and that the Temporal server and a worker are up.',
  },
  server_refused: {
    retry: false,
    http_status: 502,
    advice: 'Check the credential, the namespace and the address with which the Temporal server is called.',
  },
  database_unreachable: {
    retry: true,
    http_status: 503,
    advice: 'Check that the database is up and can be reached, and try again.',
  },
  database_unusable: {
    retry: false,
    http_status: 500,
    advice: 'Correct what is named, and start again; docs/records.md says what the database needs.',
  },
  storage_unreachable: {
    retry: true,
    http_status: 503,
    advice: 'Check that the bucket’s server is up and can be reached, and try again.',
  },
  storage_unusable: {
    retry: false,
    http_status: 500,
    advice: 'Check the name of the bucket, its region and the credentials; docs/storage.md says what it needs.',
  },
  object_missing: {
    retry: false,
    http_status: 500,
    advice:
      'Check that workers, gateways and clients have the same storage (--data-dir, PERDURE_S3_BUCKET), and that nothing else deletes from it.',
  },
  object_damaged: {
    retry: false,
    http_status: 500,
    advice: 'Bring it back from a backup of the storage.',
  },
  encryption_key_unknown: {
    retry: false,
    http_status: 500,
    advice: 'Add this key to PERDURE_ENCRYPTION_KEYS, or to what the configuration gives; docs/encryption.md says how.',
  },
  encryption_keys_unreachable: {
    retry: true,
    http_status: 503,
    advice: 'Check what `encryption.keys` of the configuration asks for the keys.',
  },
  decryption_failed: {
    retry: false,
    http_status: 500,
    advice: 'Check that the key of this id has the same bytes everywhere; if it has, what is stored was damaged.',
  },
  toolset_unavailable: {
    retry: true,
    http_status: 503,
    advice: 'Check that the named server is up, its command or address and its credentials; or make it optional.',
  },
  toolset_invalid: {
    retry: false,
    http_status: 502,
    advice: 'Correct what the named server offers, or choose among its tools by the option `tools`.',
  },
  model_rate_limited: { retry: true, http_status: 429, advice: 'Wait, or raise the limit with the vendor.' },
  model_overloaded: { retry: true, http_status: 503, advice: 'Wait, or use another model profile.' },
  model_server_error: {
    retry: true,
    http_status: 502,
    advice: 'Try again; if it lasts, see the vendor’s status page.',
  },
  model_network: { retry: true, http_status: 502, advice: 'Check the base URL and the network of the worker.' },
  model_timeout: { retry: true, http_status: 504, advice: 'Try again, or raise the model timeout.' },
  model_stream_cut: { retry: true, http_status: 502, advice: 'Try again; the connection broke in the middle.' },
  model_stream_empty: { retry: true, http_status: 502, advice: 'Try again; the vendor sent no content at all.' },
  model_no_answer: {
    retry: false,
    http_status: 502,
    advice: 'Raise the maximum output of the profile, or change the prompt.',
  },
  model_answer_cut: {
    retry: false,
    http_status: 502,
    advice: 'Raise the maximum output of the profile, or have the agent continue or keep such answers (on_cut_answer).',
  },
  model_bad_request: { retry: false, http_status: 400, advice: 'Check the model’s parameters and the tool schemas.' },
  model_context_exceeded: { retry: false, http_status: 400, advice: 'Shorten the conversation or use a larger model.' },
  model_unauthorized: { retry: false, http_status: 401, advice: 'Check the API key of the worker.' },
  model_forbidden: { retry: false, http_status: 403, advice: 'Check what the API key may use.' },
  model_not_found: { retry: false, http_status: 404, advice: 'Check the model’s name in the configuration.' },
  model_output_too_large: { retry: false, http_status: 502, advice: 'Lower the maximum output of the model profile.' },
  script_mismatch: { retry: false, http_status: 500, advice: 'Compare the script with the call that was made.' },
  context_mismatch: { retry: false, http_status: 500, advice: 'Report this: worker and workflow disagree.' },
  unknown_version: { retry: false, http_status: 500, advice: 'Run this on a worker that knows the version.' },
  internal: { retry: false, http_status: 500, advice: 'See the worker’s log for the cause.' },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

/** The header with the code, in every answer of a gateway that is an error. */
export const ERROR_CODE_HEADER = 'Perdure-Error-Code';

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(ERRORS, value);
}

export interface ErrorIssue {
  /** The field, like `limits.run.max_steps`. */
  path: string;
  message: string;
}

interface ErrorDetails {
  /** Field by field, where there is more to say than one sentence. */
  issues?: readonly ErrorIssue[];
  provider?: string;
  http_status?: number;
  retry_after_ms?: number;
  /** Of a model call: the vendor was not reached, or takes no requests just now. */
  not_taken?: boolean;
  cause?: unknown;
}

/** Every error that Perdure throws on purpose. The message says what happened and why; the advice is appended. */
export class PerdureError extends Error {
  override readonly name = 'PerdureError';
  readonly code: ErrorCode;
  readonly provider: string | undefined;
  readonly http_status: number | undefined;
  readonly retry_after_ms: number | undefined;
  readonly not_taken: boolean | undefined;
  readonly issues: readonly ErrorIssue[] | undefined;

  constructor(code: ErrorCode, what: string, details: ErrorDetails = {}) {
    super(withAdvice(`${what.replace(/[.\s]+$/, '')}.`, ERRORS[code].advice), { cause: details.cause });
    this.code = code;
    this.provider = details.provider;
    this.http_status = details.http_status;
    this.retry_after_ms = details.retry_after_ms;
    this.not_taken = details.not_taken;
    this.issues = details.issues;
  }
}

/** An error that is made of another of its code has the advice already. */
function withAdvice(sentence: string, advice: string): string {
  return sentence.endsWith(advice) ? sentence : `${sentence} ${advice}`;
}

export function isPerdureError(error: unknown): error is PerdureError {
  return error instanceof Error && error.name === 'PerdureError' && isErrorCode((error as { code?: unknown }).code);
}

/** One that was told as data: of a code that is not known here, `internal`. */
export function errorOf({ code, message }: { code: string; message: string }): PerdureError {
  return new PerdureError(isErrorCode(code) ? code : 'internal', message);
}

/** What a user may read of a failure: never a vendor's text, a path or a secret. */
export const SAFE_MESSAGES: Partial<Record<ErrorCode, string>> = {
  thread_full: 'This conversation has become too long to go on with. Please begin another one.',
  toolset_unavailable: 'A service that this agent needs could not be reached. Please try again.',
  model_rate_limited: 'The model is receiving too many requests. Please try again in a moment.',
  model_overloaded: 'The model is overloaded. Please try again in a moment.',
  model_server_error: 'The model had a problem and could not answer. Please try again.',
  model_network: 'The model could not be reached. Please try again.',
  model_timeout: 'The model took too long to answer. Please try again.',
  model_stream_cut: 'The connection to the model broke. Please try again.',
  model_stream_empty: 'The model gave no answer. Please try again.',
  model_answer_cut: 'The answer became too long for the model, and was cut.',
  model_context_exceeded: 'The conversation has become too long for the model.',
};
const GENERIC_SAFE_MESSAGE = 'Something went wrong on our side and this run could not be finished.';

export function safeMessage(code: ErrorCode): string {
  return SAFE_MESSAGES[code] ?? GENERIC_SAFE_MESSAGE;
}
