/** Why a call of the Temporal server failed, in words for people: a gRPC status says it to programs only. */
import { isGrpcServiceError } from '@temporalio/client';

/** The codes of gRPC that a person has to hear of. */
const [CANCELLED, DEADLINE_EXCEEDED, PERMISSION_DENIED, RESOURCE_EXHAUSTED] = [1, 4, 7, 8];
const [UNIMPLEMENTED, UNAVAILABLE, UNAUTHENTICATED] = [12, 14, 16];

const IN_TIME = 'the time for it ran out';

/** Undefined where it is no failure of a call. */
export function serverReason(error: unknown): string | undefined {
  for (let each = error; each instanceof Error; each = each.cause) {
    if (isGrpcServiceError(each)) return reasonOf(each.code, each.details);
    // Of an update that was given up without an answer of the server.
    if (each.name === 'WorkflowUpdateRPCTimeoutOrCancelledError' && each.cause === undefined) return IN_TIME;
  }
  return undefined;
}

/** What the server itself answered, bare or as the cause of what the SDK throws. */
export function grpcError(error: unknown): { code: number; details: string } | undefined {
  const cause = isGrpcServiceError(error) ? error : (error as { cause?: unknown } | undefined)?.cause;
  return isGrpcServiceError(cause) ? cause : undefined;
}

function reasonOf(code: number, details: string): string {
  switch (code) {
    case UNAVAILABLE:
      return unavailable(details);
    case DEADLINE_EXCEEDED:
    case CANCELLED:
      return IN_TIME;
    case PERMISSION_DENIED:
    case UNAUTHENTICATED:
      return `it refuses our credentials (${details})`;
    case RESOURCE_EXHAUSTED:
      return `it has too much to do (${details})`;
    case UNIMPLEMENTED:
      return 'what answers there is no Temporal server, or a very old one';
    default:
      // Said by the server itself, in a sentence.
      return details === '' ? `it failed with the status ${code}` : lowerFirst(details.replace(/\.+$/, ''));
  }
}

function unavailable(details: string): string {
  if (/ECONNREFUSED/.test(details)) return 'nothing listens at its address';
  if (/ENOTFOUND|EAI_AGAIN|[Nn]ame resolution/.test(details)) return 'the name of its host is not known';
  if (/wrong version number|packet length too long/i.test(details)) return 'it does not speak TLS';
  if (/certificate|self.signed/i.test(details)) return 'its certificate is not trusted';
  if (/ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/.test(details)) return 'its host cannot be reached';
  return 'the connection to it is broken';
}

function lowerFirst(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}
