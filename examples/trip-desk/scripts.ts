/** What the scripted models of the three agents say. With a real model none of this is needed. */
import type { ModelRequest } from 'perdure/contract';
import type { Script } from 'perdure/providers';
import { cityIn } from './tools.js';

type Trip = { city: string; date: string };
type Fare = { flight: string; date: string; departs: string; fare_eur: number };
type Room = { hotel: string; nights: number; price_eur: number };

const PICK_SEAT = 'client.declared.client_pick_seat';

/** Asks for the date, sends both agents off at once, books what they found, and says so. */
export function desk(request: ModelRequest): Script {
  const city = cityIn(questionOf(request));
  const date = resultOf(request, 'runtime.user.ask_clarification');
  const flight = quoteIn(resultOf(request, 'trips.agents.find_flight'));
  const hotel = quoteIn(resultOf(request, 'trips.agents.find_hotel'));
  const booked = resultOf(request, 'trips.bookings.book_trip');
  const found = `- flight: ${flight.quote}\n- hotel: ${hotel.quote}`;
  const answer = booked.startsWith('{')
    ? `You are going to ${city}. Booked as ${parse<{ booking: string }>(booked).booking} for ${flight.price_eur + hotel.price_eur} euros:\n\n${found}`
    : `I have not booked anything. This is what I found for ${city}:\n\n${found}\n\nThe booking: ${booked.split('\n')[0]}`;
  return {
    turns: [
      {
        thinking: `A trip to ${city}. I need a date before I can look for anything.`,
        tool_calls: [
          {
            tool: 'runtime.user.ask_clarification',
            args: { question: `When do you want to fly to ${city}?`, choices: ['12 June', '19 June'] },
          },
        ],
        delay_ms: 20,
      },
      {
        text: 'I will look for a flight and a hotel at the same time.',
        tool_calls: [
          { tool: 'trips.agents.find_flight', args: { city, date } },
          { tool: 'trips.agents.find_hotel', args: { city, date } },
        ],
        delay_ms: 20,
      },
      {
        tool_calls: [
          {
            tool: 'trips.bookings.book_trip',
            args: { flight: flight.quote, hotel: hotel.quote, total_eur: flight.price_eur + hotel.price_eur },
          },
        ],
      },
      { text: answer, delay_ms: 25 },
    ],
    synthesis: { text: answer },
  };
}

/** Looks up fares, lets the traveller pick a seat where the caller can show one, and names the cheapest. */
export function flights(request: ModelRequest): Script {
  const [first] = Object.values(parse<Record<string, Fare>>(resultOf(request, 'air.fares.search')));
  const seat = seatIn(resultOf(request, PICK_SEAT));
  const canPick = request.tools.some((tool) => tool.name === PICK_SEAT);
  const { city, date } = parse<Trip>(questionOf(request));
  const flight = `${first?.flight} on ${first?.date} at ${first?.departs}`;
  const answer = `${seat === undefined ? flight : `${flight}, seat ${seat}`}: ${first?.fare_eur ?? 0} euros`;
  return {
    turns: [
      { tool_calls: [{ tool: 'air.fares.search', args: { city, date } }] },
      ...(canPick
        ? [{ tool_calls: [{ tool: PICK_SEAT, args: { flight: first?.flight, free: ['4C', '14A', '22F'] } }] }]
        : []),
      { text: answer, delay_ms: 20 },
    ],
    synthesis: { text: answer },
  };
}

/** Looks in two parts of the city at once and names the cheaper room. */
export function hotels(request: ModelRequest): Script {
  const { city, date } = parse<Trip>(questionOf(request));
  const rooms = request.messages
    .filter((message) => message.role === 'tool')
    .map((message) => parse<Room>(textOf(message.content)));
  const best = rooms.toSorted((a, b) => (a.price_eur ?? 0) - (b.price_eur ?? 0))[0];
  const answer = `${best?.hotel}, ${best?.nights} nights: ${best?.price_eur ?? 0} euros`;
  const search = (part: string) => ({ tool: 'stay.rooms.search', args: { city, date, part } });
  return {
    turns: [{ tool_calls: [search('centre'), search('river')] }, { text: answer, delay_ms: 20 }],
    synthesis: { text: answer },
  };
}

function questionOf({ messages }: ModelRequest): string {
  return textOf(messages.find((message) => message.role === 'user')?.content);
}

/** The last result of a tool; empty while there is none. */
function resultOf({ messages }: ModelRequest, tool: string): string {
  return textOf(messages.findLast((message) => message.role === 'tool' && message.tool_name === tool)?.content);
}

function quoteIn(result: string): { quote: string; price_eur: number } {
  const { quote = 'nothing', price_eur = 0 } = parse<{ quote: string; price_eur: number }>(result);
  return { quote, price_eur };
}

/** A client tool may return text or JSON, or the caller may have declined: then there is no seat. */
function seatIn(result: string): string | undefined {
  return /\b\d{1,2}[A-K]\b/.exec(parse<{ seat: string }>(result).seat ?? result)?.[0];
}

/** What a tool returned, or nothing of it where it failed. */
function parse<T extends object>(text: string): Partial<T> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Partial<T>) : {};
  } catch {
    return {};
  }
}

function textOf(content: ModelRequest['messages'][number]['content'] = ''): string {
  if (content === null || typeof content === 'string') return content ?? '';
  return content.map((part) => (part.type === 'text' ? part.text : '')).join(' ');
}
