/** What the trip desk can do in the world: fares, rooms and bookings of a small made-up one, the same on every run. */
import { setTimeout as sleep } from 'node:timers/promises';
import { defineTool, ToolError } from 'perdure/kit';
import { z } from 'zod';

const CITIES = ['Lisbon', 'Oslo', 'Naples', 'Kyoto'] as const;

/** The city that a text names, or the desk's favourite. */
export function cityIn(text: string): string {
  return CITIES.find((city) => text.toLowerCase().includes(city.toLowerCase())) ?? CITIES[0];
}

/** A number between 0 and 99 that depends on the words alone. */
function figureOf(...words: string[]): number {
  return Array.from(words.join(), (letter) => letter.codePointAt(0) ?? 0).reduce(
    (sum, code) => (sum * 31 + code) % 100,
    7,
  );
}

export const searchFares = defineTool({
  tool_id: 'air.fares.search',
  description: 'Flights to a city on a date, with fares in euros.',
  input: z.object({ city: z.string(), date: z.string() }),
  idempotent: true,
  async run({ city, date }, { progress, signal }) {
    progress(`asking two airlines about ${city}`, 0.5);
    await sleep(900, undefined, { signal });
    const fare = 120 + figureOf(city, date);
    return [
      { flight: 'TP 1274', city, date, departs: '07:40', fare_eur: fare },
      { flight: 'OS 355', city, date, departs: '13:05', fare_eur: fare + 38 },
    ];
  },
});

export const searchRooms = defineTool({
  tool_id: 'stay.rooms.search',
  description: 'Rooms in one part of a city, three nights from a date, with prices in euros.',
  input: z.object({ city: z.string(), date: z.string(), part: z.enum(['centre', 'river']) }),
  idempotent: true,
  async run({ city, date, part }, { signal }) {
    await sleep(part === 'centre' ? 700 : 1_300, undefined, { signal });
    return {
      hotel: `Hotel ${part === 'centre' ? 'Central' : 'Riverside'}`,
      city,
      nights: 3,
      price_eur: 240 + figureOf(city, date, part),
    };
  },
});

/** Not safe to repeat, so Perdure makes the call once; and above 200 euros a person has to approve it. */
export const bookTrip = defineTool({
  tool_id: 'trips.bookings.book_trip',
  description: 'Books a flight and a hotel together. It costs money.',
  input: z.object({ flight: z.string(), hotel: z.string(), total_eur: z.number() }),
  output: z.object({ booking: z.string(), total_eur: z.number() }),
  approval: ({ total_eur }) => total_eur > 200,
  async run({ flight, hotel, total_eur }, { progress, signal, idempotency_key }) {
    if (total_eur > 5_000) throw new ToolError('denied', 'the desk books no trip above 5,000 euros');
    progress('holding both offers', 0.5);
    await sleep(600, undefined, { signal });
    // The same for every attempt at this call, so that the booking is made once.
    return { booking: `PD-${1_000 + figureOf(flight, hotel, idempotency_key)}`, total_eur };
  },
});
