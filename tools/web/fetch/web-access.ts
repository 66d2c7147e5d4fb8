/**
 * Where pages may be fetched from: the rules of a configuration, and what they say about a host, a port and an
 * address. Closed where nothing is said: public addresses only, ports 80 and 443 only.
 */
import ipaddr from 'ipaddr.js';
import { PerdureError } from '../../../contract/errors.js';
import { notPublic, parseAddress } from './address-rules.js';
import type { Address } from './address-rules.js';

export interface AccessOptions {
  /** Only these hosts, each with its subdomains; all public ones if absent. */
  allow_hosts?: readonly string[];
  /** Never these hosts, nor their subdomains, whatever else is allowed. */
  deny_hosts?: readonly string[];
  /** Ports beside 80 and 443. */
  ports?: readonly number[];
  /**
   * For local tests, and for an intranet on purpose. Addresses or CIDR blocks that may be connected to though they
   * are not public; `host:port` opens that port as well; `true` opens every address and port.
   */
  allow_private_addresses?: true | readonly string[];
}

export interface Endpoint {
  /** As in a URL: lower case, no brackets, no dot at the end. */
  host: string;
  port: number;
}

export interface WebAccess {
  /** Why a host may not be asked, or undefined. */
  refusesHost(endpoint: Endpoint): string | undefined;
  /** Why an address of that host may not be connected to, or undefined. */
  refusesAddress(address: string, endpoint: Endpoint): string | undefined;
}

export function createWebAccess(options: AccessOptions = {}): WebAccess {
  const { allow_hosts, deny_hosts = [], ports = [], allow_private_addresses = [] } = options;
  const opened = allow_private_addresses === true ? 'all' : allow_private_addresses.map(parseOpened);
  const isOpened = ({ host, port }: Endpoint) =>
    opened === 'all' || opened.some((entry) => 'host' in entry && entry.host === host && entry.port === port);
  const allowed = allow_hosts?.map(hostRule);
  const denied = deny_hosts.map(hostRule);

  return {
    refusesHost(endpoint) {
      const { host, port } = endpoint;
      if (denied.some((rule) => covers(rule, host))) return `the configuration denies the host ${host}`;
      if (allowed !== undefined && !allowed.some((rule) => covers(rule, host)))
        return `the configuration allows other hosts only, not ${host}`;
      if (port !== 80 && port !== 443 && !ports.includes(port) && !isOpened(endpoint))
        return `port ${port} is not allowed, only 80 and 443 are`;
      return undefined;
    },
    refusesAddress(text, endpoint) {
      const address = parseAddress(text);
      if (address === undefined) return `${endpoint.host} has no address that could be checked`;
      const kind = notPublic(address);
      if (kind === undefined || isOpened(endpoint)) return undefined;
      if (opened !== 'all' && opened.some((entry) => 'base' in entry && isIn(address, entry))) return undefined;
      return `the address of ${endpoint.host} is not public: it is ${kind}`;
    },
  };
}

interface Block {
  base: Address;
  bits: number;
}

function parseOpened(text: string): Endpoint | Block {
  try {
    if (text.includes('/')) {
      const [base, bits] = ipaddr.parseCIDR(text);
      return { base, bits };
    }
    if (ipaddr.isValid(text)) {
      const base = ipaddr.parse(text);
      return { base, bits: base.kind() === 'ipv4' ? 32 : 128 };
    }
    const { hostname, port } = new URL(`tcp://${text}`);
    if (port !== '') return { host: plainHost(hostname), port: Number(port) };
  } catch {
    // Falls through to the message, which says what an entry may be.
  }
  throw invalid('allow_private_addresses', text, 'an address, a CIDR block, or host:port');
}

function isIn(address: Address, { base, bits }: Block): boolean {
  return address.kind() === base.kind() && (address as ipaddr.IPv4).match(base as ipaddr.IPv4, bits);
}

function hostRule(text: string): string {
  let host = '';
  try {
    host = plainHost(new URL(`http://${text.includes(':') && !text.startsWith('[') ? `[${text}]` : text}/`).hostname);
  } catch {
    // The message below.
  }
  if (host === '' || /[/@?#*]/.test(text)) throw invalid('allow_hosts or deny_hosts', text, 'a host, like example.org');
  return host;
}

function covers(rule: string, host: string): boolean {
  return host === rule || host.endsWith(`.${rule}`);
}

/** A URL's host name without what is only notation. */
export function plainHost(hostname: string): string {
  return hostname
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.+$/, '');
}

function invalid(field: string, text: string, wanted: string): PerdureError {
  return new PerdureError('invalid_config', `The web tools' ${field} has "${text}", which is not ${wanted}.`);
}
