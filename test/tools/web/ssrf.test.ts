/**
 * What a model must not reach through a page's address. A secret is served on real sockets of this machine; no case
 * may get it, and none may even connect. What stands for the internet is a site of this machine too, opened by host
 * and port on purpose, so that every other address keeps its rules.
 */
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { connect } from 'node:net';
import type { LookupAddress } from 'node:dns';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createFetchPage } from '../../../tools/web/fetch/fetch-page.js';
import type { FetchOptions } from '../../../tools/web/fetch/fetch-page.js';
import { REAL_NETWORK } from '../../../tools/web/fetch/guarded-connector.js';
import type { Network } from '../../../tools/web/fetch/guarded-connector.js';
import { createWebAccess } from '../../../tools/web/fetch/web-access.js';
import { redirect, reply, startSite } from './site.js';
import type { Site } from './site.js';

/** Counts connections at the level of the socket: a request that is never sent is not safe if one was opened. */
interface Trap {
  readonly port: number;
  connections: number;
  end(): Promise<void>;
}

async function startTrap(host: string): Promise<Trap> {
  const server: Server = createServer((socket) => {
    trap.connections += 1;
    socket.on('error', () => undefined);
    socket.end('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 6\r\n\r\nsecret');
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, host, resolve));
  const trap = {
    port: (server.address() as AddressInfo).port,
    connections: 0,
    end: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
  return trap;
}

let trap: Trap;
let site: Site;
beforeAll(async () => {
  // On all interfaces, IPv6 too: whatever form of an address gets through would be answered.
  trap = await startTrap('::').catch(() => startTrap('0.0.0.0'));
  site = await startSite();
  site.answer('/page', reply('public words'));
});
afterAll(async () => {
  await trap.end();
  await site.end();
});
beforeEach(() => {
  trap.connections = 0;
});

const signal = () => new AbortController().signal;
/** The trap's port is open by configuration, so that it is the address alone that decides. */
const options = (): FetchOptions => ({ ports: [trap.port], allow_private_addresses: [site.endpoint] });
const get = (url: string, extra: FetchOptions = {}, network: Network = REAL_NETWORK) =>
  createFetchPage({ ...options(), ...extra }, network)(url, signal());

/** A resolver that gives one answer after another, the last one for ever. */
function answers(...given: string[][]): Network & { asked: string[] } {
  const asked: string[] = [];
  return {
    ...REAL_NETWORK,
    asked,
    async resolve(hostname): Promise<LookupAddress[]> {
      asked.push(hostname);
      const addresses = given[Math.min(asked.length, given.length) - 1] ?? [];
      return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    },
  };
}

describe('an address that is not of the public internet', () => {
  it.each([
    ['loopback', '127.0.0.1'],
    ['another loopback', '127.255.1.9'],
    ['a short form', '127.1'],
    ['a shorter form', '0'],
    ['decimal', '2130706433'],
    ['octal', '0177.0.0.1'],
    ['octal with zeros', '0000177.0.0.01'],
    ['hex', '0x7f000001'],
    ['hex in parts', '0x7f.0x0.0x0.0x1'],
    ['mixed forms', '0x7f.1'],
    ['full-width digits', '１２７.０.０.１'],
    ['other full stops', '127。0。0。1'],
    ['percent-encoded', '%31%32%37.0.0.1'],
    ['a dot at the end', '127.0.0.1.'],
    ['unspecified', '0.0.0.0'],
    ['private 10', '10.0.0.1'],
    ['private 172', '172.31.255.254'],
    ['private 192', '192.168.1.1'],
    ['link-local and metadata', '169.254.169.254'],
    ['metadata in decimal', '2852039166'],
    ['metadata of Alibaba, in the CGNAT block', '100.100.100.200'],
    ['metadata of Azure, at an address that looks public', '168.63.129.16'],
    ['metadata of Oracle', '192.0.0.192'],
    ['multicast', '224.0.0.251'],
    ['broadcast', '255.255.255.255'],
    ['reserved', '240.0.0.1'],
    ['documentation', '203.0.113.7'],
    ['benchmarking', '198.18.0.1'],
    ['IPv6 loopback', '[::1]'],
    ['IPv6 loopback written out', '[0:0:0:0:0:0:0:1]'],
    ['IPv6 unspecified', '[::]'],
    ['IPv4-mapped', '[::ffff:127.0.0.1]'],
    ['IPv4-mapped in hex', '[::ffff:7f00:1]'],
    ['IPv4-mapped private', '[::ffff:10.0.0.1]'],
    ['IPv4-compatible', '[::127.0.0.1]'],
    ['IPv4-translated', '[::ffff:0:127.0.0.1]'],
    ['NAT64 of a private address', '[64:ff9b::10.0.0.1]'],
    ['NAT64 of metadata', '[64:ff9b::a9fe:a9fe]'],
    ['local NAT64', '[64:ff9b:1::10.0.0.1]'],
    ['6to4 of loopback', '[2002:7f00:1::]'],
    ['Teredo', '[2001:0:7f00:1::1]'],
    ['IPv6 link-local', '[fe80::1]'],
    ['IPv6 unique local', '[fd00:ec2::254]'],
    ['IPv6 site-local', '[fec0::1]'],
    ['IPv6 multicast', '[ff02::1]'],
    ['IPv6 documentation', '[2001:db8::1]'],
    ['IPv6 discard', '[100::1]'],
  ])('%s is refused: %s', async (_what, host) => {
    await expect(get(`http://${host}:${trap.port}/`)).rejects.toMatchObject({ name: 'ToolError', kind: 'denied' });
    expect(trap.connections).toBe(0);
  });

  it.each([
    ['IPv4', '93.184.216.34'],
    ['IPv4 beside a private block', '172.32.0.1'],
    ['IPv6', '2606:2800:220:1:248:1893:25c8:1946'],
    ['IPv4-mapped', '::ffff:93.184.216.34'],
    ['NAT64, as networks without IPv4 have it', '64:ff9b::5db8:d822'],
  ])('is told from a public one: %s', (_what, address) => {
    const endpoint = { host: 'example.org', port: 443 };
    expect(createWebAccess().refusesAddress(address, endpoint)).toBeUndefined();
    expect(createWebAccess().refusesAddress('10.0.0.1', endpoint)).toContain('private');
  });

  it('a zone id is no part of a URL', async () => {
    await expect(get(`http://[fe80::1%25lo]:${trap.port}/`)).rejects.toMatchObject({ kind: 'invalid_call' });
  });
});

describe('a URL that is refused as such', () => {
  it.each([
    ['a file', 'file:///etc/passwd', 'denied'],
    ['ftp', 'ftp://example.org/', 'denied'],
    ['gopher', 'gopher://127.0.0.1:6379/_INFO', 'denied'],
    ['data', 'data:text/plain,hello', 'denied'],
    ['a script', 'javascript:alert(1)', 'denied'],
    ['a user name', 'http://user@example.org/', 'denied'],
    ['a password', 'http://:secret@example.org/', 'denied'],
    ['a user name that looks like a host', 'http://example.org@127.0.0.1/', 'denied'],
    ['the port of ssh', 'http://example.org:22/', 'denied'],
    ['the port of Redis', 'http://example.org:6379/', 'denied'],
    ['port 0', 'http://example.org:0/', 'denied'],
    ['a relative one', '/etc/passwd', 'invalid_call'],
    ['none', 'not a url', 'invalid_call'],
    ['one too long', `http://example.org/${'a'.repeat(3_000)}`, 'invalid_call'],
  ])('%s', async (_what, url, kind) => {
    const network = answers(['93.184.216.34']);
    const failed = await get(url, {}, network).catch((error: unknown) => error);
    expect(failed).toMatchObject({ name: 'ToolError', kind });
    expect((failed as Error).message).not.toContain('secret');
    expect(network.asked).toEqual([]);
  });
});

describe('a name', () => {
  it.each([
    ['for loopback', ['127.0.0.1']],
    ['for loopback by IPv6', ['::1']],
    ['for a mapped address', ['::ffff:127.0.0.1']],
    ['for metadata', ['169.254.169.254']],
    ['for a public address and a private one', ['93.184.216.34', '127.0.0.1']],
    ['for an address with a zone', ['fe80::1%lo']],
  ])('%s is refused before a connection', async (_what, addresses) => {
    await expect(get(`http://innocent.test:${trap.port}/`, {}, answers(addresses))).rejects.toMatchObject({
      kind: 'denied',
      message: expect.stringContaining('not public'),
    });
    expect(trap.connections).toBe(0);
  });

  it('for this machine, by the real resolver, is refused', async () => {
    await expect(get(`http://localhost:${trap.port}/`)).rejects.toMatchObject({ kind: 'denied' });
    await expect(get(`http://LOCALHOST.:${trap.port}/`)).rejects.toMatchObject({ kind: 'denied' });
    expect(trap.connections).toBe(0);
  });

  it('that changes its answer is looked up once for a connection, and that answer is what is connected to', async () => {
    const network = answers(['127.0.0.1'], ['127.0.0.9']);
    const dialed: string[] = [];
    const watched: Network = {
      resolve: network.resolve,
      dial(to) {
        const socket = connect(to);
        socket.once('connect', () => dialed.push(socket.remoteAddress ?? ''));
        return socket;
      },
    };
    const extra = { allow_private_addresses: [`innocent.test:${site.port}`] };
    const page = await get(`http://innocent.test:${site.port}/page`, extra, watched);
    expect(page.bytes.toString()).toBe('public words');
    expect(network.asked).toHaveLength(1);
    expect(dialed).toEqual(['127.0.0.1']);
  });

  it('that changes its answer between two requests of a redirect is judged again', async () => {
    // Both answers are of this machine; only the first one is opened, as an address.
    site.answer('/again', redirect(`http://innocent.test:${trap.port}/`));
    const network = answers(['127.0.0.1'], ['127.0.0.2']);
    const extra = { allow_private_addresses: ['127.0.0.1'], ports: [site.port, trap.port] };
    const going = get(`http://innocent.test:${site.port}/again`, extra, network);
    await expect(going).rejects.toMatchObject({ kind: 'denied' });
    expect(network.asked).toHaveLength(2);
    expect(trap.connections).toBe(0);
  });

  it('that leads somewhere else than it was looked up gets no request: the connected address is checked', async () => {
    const sent: string[] = [];
    const spy = createServer((socket) => socket.on('data', (bytes) => sent.push(bytes.toString('latin1'))));
    await new Promise<void>((resolve) => spy.listen(0, '127.0.0.1', resolve));
    const elsewhere: Network = {
      resolve: answers(['93.184.216.34']).resolve,
      // As a rule of the network would: asked for a public address, connected to this machine.
      dial: () => connect({ host: '127.0.0.1', port: (spy.address() as AddressInfo).port }),
    };
    await expect(get('http://innocent.test/', {}, elsewhere)).rejects.toMatchObject({ kind: 'denied' });
    await expect(get('https://innocent.test/', {}, elsewhere)).rejects.toMatchObject({ kind: 'denied' });
    await expect(get('http://93.184.216.34/', {}, elsewhere)).rejects.toMatchObject({ kind: 'denied' });
    expect(sent).toEqual([]);
    await new Promise((resolve) => spy.close(resolve));
  });
});

describe('a redirect', () => {
  it.each([
    ['to loopback', () => `http://127.0.0.1:${trap.port}/`],
    ['to another port of the same host', () => `http://127.0.0.1:${trap.port}/`],
    ['to loopback by IPv6', () => `http://[::1]:${trap.port}/`],
    ['to a decimal address', () => `http://2130706433:${trap.port}/`],
    ['to a name for loopback', () => `http://localhost:${trap.port}/`],
    ['without a scheme', () => `//127.0.0.1:${trap.port}/`],
    ['with back slashes', () => `\\\\127.0.0.1:${trap.port}\\`],
    ['to metadata', () => 'http://169.254.169.254/latest/meta-data/'],
    ['to a file', () => 'file:///etc/passwd'],
    ['with a user name', () => `http://user:password@127.0.0.1:${site.port}/page`],
    ['to a port that is closed', () => 'http://example.org:25/'],
  ])('%s is refused', async (what, location) => {
    for (const status of [301, 302, 303, 307, 308]) {
      site.answer(`/${what}`.replaceAll(' ', '-'), redirect(location(), status));
      const going = get(`${site.origin}/${what}`.replaceAll(' ', '-'));
      await expect(going).rejects.toMatchObject({ name: 'ToolError', kind: 'denied' });
    }
    expect(trap.connections).toBe(0);
  });

  it('chain that ends on loopback is refused at its last step', async () => {
    site.answer('/one', redirect('/two'));
    site.answer('/two', redirect(`${site.origin}/three`));
    site.answer('/three', redirect(`http://127.1:${trap.port}/`));
    await expect(get(`${site.origin}/one`)).rejects.toMatchObject({ kind: 'denied' });
    expect(trap.connections).toBe(0);
  });

  it('to a page that is allowed is followed, a relative one too', async () => {
    site.answer('/moved', redirect('/page', 301));
    const page = await get(`${site.origin}/moved`);
    expect(page).toMatchObject({ url: `${site.origin}/page`, format: 'text' });
  });

  it('is followed five times and no more', async () => {
    for (let n = 0; n <= 6; n += 1) site.answer(`/hop${n}`, redirect(`/hop${n + 1}`));
    site.answer('/hop6', reply('at last'));
    site.asked.length = 0;
    await expect(get(`${site.origin}/hop0`)).rejects.toMatchObject({ message: expect.stringContaining('5 times') });
    expect(site.asked).toHaveLength(6);
    await expect(get(`${site.origin}/hop1`)).resolves.toMatchObject({ url: `${site.origin}/hop6` });
  });
});

describe('the lists of a configuration', () => {
  const network = () => answers(['127.0.0.1']);
  const local = { allow_private_addresses: true } as const;

  it('an allow list closes the rest, also behind a redirect', async () => {
    const allow_hosts = ['docs.test'];
    site.answer('/out', redirect(`http://other.test:${site.port}/page`));
    const url = (host: string, path: string) => `http://${host}:${site.port}${path}`;
    await expect(get(url('docs.test', '/page'), { ...local, allow_hosts }, network())).resolves.toBeDefined();
    await expect(get(url('DOCS.test.', '/page'), { ...local, allow_hosts }, network())).resolves.toBeDefined();
    await expect(get(url('a.docs.test', '/page'), { ...local, allow_hosts }, network())).resolves.toBeDefined();
    for (const refused of [url('evildocs.test', '/page'), url('docs.test.evil', '/page'), url('docs.test', '/out')])
      await expect(get(refused, { ...local, allow_hosts }, network())).rejects.toMatchObject({ kind: 'denied' });
  });

  it('a deny list wins over an allow list', async () => {
    const lists = { allow_hosts: ['docs.test'], deny_hosts: ['private.docs.test'] };
    const going = get(`http://x.private.docs.test:${site.port}/page`, { ...local, ...lists }, network());
    await expect(going).rejects.toMatchObject({ kind: 'denied', message: expect.stringContaining('denies') });
  });

  it('an empty allow list allows nothing', async () => {
    const going = get(`${site.origin}/page`, { ...local, allow_hosts: [] });
    await expect(going).rejects.toMatchObject({ kind: 'denied' });
  });

  it('an opened block opens addresses, and no ports', async () => {
    const block = { allow_private_addresses: ['127.0.0.0/8'] };
    await expect(get(`${site.origin}/page`, block)).rejects.toMatchObject({ message: expect.stringContaining('port') });
    await expect(get(`${site.origin}/page`, { ...block, ports: [site.port] })).resolves.toBeDefined();
  });

  it.each([
    [{ allow_private_addresses: ['all'] }],
    [{ allow_private_addresses: ['10.0.0.0/99'] }],
    [{ allow_hosts: ['https://docs.test/'] }],
    [{ deny_hosts: ['*.docs.test'] }],
    [{ timeout: 'soon' }],
  ])('a mistake in them is found when the tools are made: %j', (bad) => {
    expect(() => createFetchPage(bad)).toThrow(/The web tools'/);
  });
});
