/** Data URLs as people and libraries write them, over each vendor's socket: all vendors get the plain form. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ModelProvider } from '../../contract/model-provider.js';
import { modelRequest, partsFrom } from './model-request.js';
import { VENDORS, type Vendor } from './vendors.js';
import { startWireServer, type WireServer } from './wire-server.js';

const PIXEL = 'iVBORw0KGgo=';
const PDF = 'JVBERi0=';

describe.each(VENDORS)('$name', (vendor: Vendor) => {
  let server: WireServer;
  let provider: ModelProvider;
  beforeAll(async () => {
    server = await startWireServer(vendor.path);
    provider = vendor.connect(server.baseURL);
  });
  afterAll(() => server.close());

  const about = (url: string, data: string) =>
    modelRequest({
      model: vendor.model,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url } },
            { type: 'document', source: { data, media_type: 'application/pdf' } },
          ],
        },
      ],
    });

  it.each([
    ['a type that is a misspelling', `data:image/jpg;base64,${PIXEL}`, 'data:image/jpg;base64,'],
    ['no type', `data:;base64,${PIXEL}`, 'data:image/jpeg;base64,'],
  ])('takes the type of the part for a data URL with %s', async (_what, url, sent) => {
    server.reply(vendor.stream('text'));
    const image_url = { url, media_type: 'image/jpeg' as const };
    const messages = [{ role: 'user' as const, content: [{ type: 'image_url' as const, image_url }] }];
    await partsFrom(provider, modelRequest({ model: vendor.model, messages }));
    const expected: Record<Vendor['name'], unknown> = {
      // What is named is sent as it is: others who speak this API take other types.
      openai: [{ type: 'image_url', image_url: { url: sent + PIXEL } }],
      anthropic: [{ type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: PIXEL } }],
      gemini: [{ inlineData: { mimeType: 'image/jpeg', data: PIXEL } }],
    };
    expect(vendor.wire.userParts(server.requests.at(-1)?.body ?? {})).toEqual(expected[vendor.name]);
  });

  it.each([
    ['a parameter', `data:image/png;charset=x;base64,${PIXEL}`, `data:application/pdf;name=a.pdf;base64,${PDF}`],
    ['a type in capitals', `data:IMAGE/PNG;base64,${PIXEL}`, `data:APPLICATION/PDF;base64,${PDF}`],
    ['other words in capitals', `DATA:image/png;BASE64,${PIXEL}`, `DATA:application/pdf;BASE64,${PDF}`],
  ])('takes data URLs with %s', async (_what, url, data) => {
    server.reply(vendor.stream('text'));
    await partsFrom(provider, about(url, data));
    const expected: Record<Vendor['name'], unknown> = {
      openai: [
        { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } },
        { type: 'file', file: { filename: 'document.pdf', file_data: `data:application/pdf;base64,${PDF}` } },
      ],
      anthropic: [
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
        { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: PDF } },
      ],
      gemini: [
        { inlineData: { mimeType: 'image/png', data: PIXEL } },
        { inlineData: { mimeType: 'application/pdf', data: PDF } },
      ],
    };
    expect(vendor.wire.userParts(server.requests.at(-1)?.body ?? {})).toEqual(expected[vendor.name]);
  });
});
