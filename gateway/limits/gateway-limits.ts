/** What one caller may take of the gateway. */
export interface GatewayLimits {
  body_bytes: number;
  header_bytes: number;
  /** For a client to send its headers, and its whole request. */
  header_timeout_ms: number;
  request_timeout_ms: number;
  /** Open at the same time from one address, whoever is behind it. */
  connections_per_address: number;
  /** At the same time, per principal. */
  open_streams: number;
  /** How often the credential of an open stream is checked again. */
  recheck_ms: number;
  /** Per principal, in the long run, and how many may come at once. */
  requests_per_second: number;
  request_burst: number;
}

export const DEFAULT_LIMITS: GatewayLimits = {
  body_bytes: 10 * 1024 * 1024,
  // The cursor of a wide tree is long: some 170 characters for each child that is speaking.
  header_bytes: 64 * 1024,
  header_timeout_ms: 10_000,
  request_timeout_ms: 60_000,
  connections_per_address: 500,
  open_streams: 100,
  recheck_ms: 15_000,
  requests_per_second: 50,
  request_burst: 100,
};
