/** What the gateway refused, as the error that it is on its side. */
import { ERROR_CODE_HEADER, ERRORS, isErrorCode, PerdureError } from '../../contract/errors.js';
import type { ErrorCode } from '../../contract/errors.js';

interface ErrorBody {
  code?: unknown;
  message?: unknown;
  issues?: { path?: unknown; message?: unknown }[];
}

export async function errorOf(response: Response): Promise<PerdureError> {
  const { status } = response;
  const { message, issues, ...body } = await bodyOf(response);
  // Below /v1/ai the body has a code of another API: the header has ours everywhere.
  const code = response.headers.get(ERROR_CODE_HEADER) ?? body.code;
  const known = isErrorCode(code) ? code : codeOf(status);
  const named = isErrorCode(code) || typeof code !== 'string' ? '' : ` (${code})`;
  const what = typeof message === 'string' ? withoutAdvice(message, known) : `the gateway answered ${status}`;
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  return new PerdureError(known, `${what}${named}${fieldsOf(what, issues)}`, {
    http_status: status,
    ...(Number.isFinite(retryAfter) ? { retry_after_ms: retryAfter * 1_000 } : {}),
  });
}

/** What stands between us and the gateway answers in its own way, or not in JSON. */
async function bodyOf(response: Response): Promise<ErrorBody> {
  const text = await response.text().catch(() => '');
  try {
    const { error } = (JSON.parse(text) ?? {}) as { error?: ErrorBody };
    return error ?? {};
  } catch {
    return {};
  }
}

function codeOf(status: number): ErrorCode {
  if (status >= 500) return [502, 503, 504].includes(status) ? 'server_unreachable' : 'internal';
  return 'invalid_request';
}

/** The error adds it again. */
function withoutAdvice(message: string, code: ErrorCode): string {
  const { advice } = ERRORS[code];
  return message.endsWith(advice) ? message.slice(0, -advice.length).trimEnd() : message;
}

function fieldsOf(what: string, issues: ErrorBody['issues']): string {
  if (!Array.isArray(issues) || issues.length === 0) return '';
  const named = issues.map((issue) => `${String(issue.path)}: ${String(issue.message)}`);
  return named.every((each) => what.includes(each)) ? '' : `: ${named.join('; ')}`;
}
