/** Who may have how many streams open, and for how long: until the credential that opened one is good no more. */
import type { StreamProfile } from '../../contract/profiles.js';
import { principalKey } from '../principal.js';
import type { Principal } from '../principal.js';
import type { RouteTools } from '../route.js';
import type { ReaderContext } from '../stream/respond.js';
import type { Asked } from '../stream/stream-request.js';

export interface StreamCall {
  tools: RouteTools;
  principal: Principal;
  request: Request;
  search: URLSearchParams;
  profile: StreamProfile;
  /** Whose the runs are; '' where they are nobody's. */
  org: string;
}

/** The place is taken before anything is begun, and free again when the stream is over. */
export async function takePlace(
  { tools, principal, request, search, profile, org }: StreamCall,
  open: (context: ReaderContext & Asked) => Promise<Response>,
): Promise<Response> {
  const free = tools.slots.take(principalKey(principal));
  const revoked = new AbortController();
  const stopWatching = tools.whenRevoked(request.headers, (error) => revoked.abort(error));
  const release = () => {
    stopWatching();
    free();
  };
  const signal = AbortSignal.any([request.signal, revoked.signal]);
  try {
    signal.addEventListener('abort', release, { once: true });
    const response = await open({
      query: search,
      headers: request.headers,
      signal,
      profile,
      dressing: { links: tools.files, org, artefacts: tools.artefacts, failed: tools.streamFailed },
      // Whoever is cut has not left.
      isStopping: () => tools.isStopping() || revoked.signal.aborted,
      onClose: release,
    });
    if (!response.ok || response.body === null) release();
    return response;
  } catch (error) {
    release();
    throw error;
  }
}
