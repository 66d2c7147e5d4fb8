/** How calls of the Temporal server are made again: the interceptors of a client's connection. */
import { defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import type { ConnectionOptions } from '@temporalio/client';

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];
type InterceptedCall = ReturnType<Interceptor>;

/** Codes of gRPC. */
const [CANCELLED, RESOURCE_EXHAUSTED] = [1, 8];
const UPDATE = '/UpdateWorkflowExecution';
const TRIES_OF_AN_UPDATE = 3;

/** A query that finds another one waiting is refused as "exhausted": the place is free in milliseconds, not in a second. */
const options = defaultGrpcRetryOptions({ initialIntervalMs: () => 25 });
const patient = makeGrpcRetryInterceptor(options);
/** Where there is no room for an update, its sender is told at once to come back: it knows better what can wait. */
const brief = makeGrpcRetryInterceptor({
  ...options,
  retryableDecider: (attempt, status) =>
    options.retryableDecider(attempt, status) && (status.code !== RESOURCE_EXHAUSTED || attempt < TRIES_OF_AN_UPDATE),
});
const retries: Interceptor = (call, next) =>
  (call.method_definition.path.endsWith(UPDATE) ? brief : patient)(call, next);

/**
 * The SDK (1.24) makes a call once more by a timer, and grpc-js throws where its channel was closed meanwhile: in a timer,
 * where nobody can catch it, so that a process that stops in order would end with an error. Such a call is canceled.
 */
const endClosedCalls: Interceptor = (call, next) => {
  try {
    return next(call) as InterceptedCall;
  } catch (error) {
    if (!(error instanceof Error && error.message === 'Channel has been shut down')) throw error;
    const nothing = () => {};
    const start: InterceptedCall['start'] = (metadata, listener) =>
      listener?.onReceiveStatus?.({ code: CANCELLED, details: 'the connection was closed', metadata });
    const ended = { start, sendMessage: nothing, startRead: nothing, halfClose: nothing, cancelWithStatus: nothing };
    return ended as unknown as InterceptedCall;
  }
};

export const CALL_INTERCEPTORS: readonly Interceptor[] = [retries, endClosedCalls];
