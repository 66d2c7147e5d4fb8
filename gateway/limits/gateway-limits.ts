/** What one caller may take of the gateway. */
export interface GatewayLimits {
  body_bytes: number;
  header_bytes: number;
  /** For a client to send its headers, and its whole request. */
  header_timeout_ms: number;
  request_timeout_ms: number;
  /** At the same time, per principal. */
  open_streams: number;
  /** Per principal, in the long run, and how many may come at once. */
  requests_per_second: number;
  request_burst: number;
}

export const DEFAULT_LIMITS: GatewayLimits = {
  body_bytes: 10 * 1024 * 1024,
  header_bytes: 16 * 1024,
  header_timeout_ms: 10_000,
  request_timeout_ms: 60_000,
  open_streams: 100,
  requests_per_second: 50,
  request_burst: 100,
};
