/** What the gateway counts, for Prometheus. Routes are named by their pattern: an id in a label would make a series each. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

export interface Metrics {
  answered(facts: { method: string; route: string; status: number; seconds: number }): void;
  streams(by: 1 | -1): void;
  read(): Promise<{ text: string; type: string }>;
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

export function createMetrics(): Metrics {
  const register = new Registry();
  collectDefaultMetrics({ register });
  const requests = new Counter({
    name: 'perdure_http_requests_total',
    help: 'Requests that were answered, by route and status.',
    labelNames: ['method', 'route', 'status'],
    registers: [register],
  });
  const latency = new Histogram({
    name: 'perdure_http_request_duration_seconds',
    help: 'From a request to the head of its answer.',
    labelNames: ['method', 'route'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [register],
  });
  const open = new Gauge({ name: 'perdure_open_streams', help: 'Streams that are open.', registers: [register] });
  return {
    answered({ method, route, status, seconds }) {
      // A method is the caller's word, and there must be no more series than we know of.
      const known = METHODS.includes(method) ? method : 'other';
      requests.inc({ method: known, route, status });
      latency.observe({ method: known, route }, seconds);
    },
    streams: (by) => open.inc(by),
    read: async () => ({ text: await register.metrics(), type: register.contentType }),
  };
}
