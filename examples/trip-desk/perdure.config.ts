/**
 * The second example: a run tree. `trips.desk` asks for a date (a clarification), sends two agents off in parallel,
 * one of which lets the caller pick a seat (a client tool), and books after a person approved (an approval).
 *
 *   npx perdure run trips.desk "A few days in Lisbon" --config examples/trip-desk/perdure.config.ts \
 *     --client-tools examples/trip-desk/client-tools.json
 *
 * No key is needed: the models are scripted (scripts.ts). docs/runs.md explains it.
 */
import { agentAsTool, defineAgent, defineConfig } from 'perdure/kit';
import { scripted } from 'perdure/providers';
import { z } from 'zod';
import { desk, flights, hotels } from './scripts.js';
import { bookTrip, searchFares, searchRooms } from './tools.js';

const flightAgent = defineAgent({
  agent_id: 'trips.flights',
  description: 'Finds a flight, with a seat where the traveller can pick one.',
  instructions: 'Find the cheapest flight. Let the traveller pick a seat if you can. Answer in one line with the fare.',
  model: 'flights',
  tools: [searchFares],
});

const hotelAgent = defineAgent({
  agent_id: 'trips.hotels',
  description: 'Finds a hotel.',
  instructions: 'Look in both parts of the city and name the cheaper room in one line with its price.',
  model: 'hotels',
  tools: [searchRooms],
  limits: { run: { max_steps: 4, time_budget: '1m' } },
});

const trip = z.object({ city: z.string(), date: z.string() });

/** The parent's model reads numbers, not prose: made from the child's answer, when the child has ended. */
function quoteOf(answer: string): { quote: string; price_eur: number } {
  const [, quote = answer, price = '0'] = /^(.*): (\d+) euros$/.exec(answer) ?? [];
  return { quote, price_eur: Number(price) };
}

const deskAgent = defineAgent({
  agent_id: 'trips.desk',
  description: 'Plans and books short trips.',
  instructions: 'Ask for a date, find a flight and a hotel at the same time, then book both.',
  model: 'desk',
  clarifications: true,
  tools: [
    agentAsTool(flightAgent, {
      tool_id: 'trips.agents.find_flight',
      input: trip,
      prompt: (input) => JSON.stringify(input),
      finalizer: ({ child }) => quoteOf(child.answer),
    }),
    agentAsTool(hotelAgent, {
      tool_id: 'trips.agents.find_hotel',
      input: trip,
      prompt: '{"city": "{{city}}", "date": "{{date}}"}',
      finalizer: ({ child }) => quoteOf(child.answer),
    }),
    bookTrip,
  ],
  // For the run and for all below it: what is not named here, none of the three agents can call.
  policy: { allow: ['trips.*', 'air.fares.*', 'stay.rooms.*', 'runtime.user.*', 'client.declared.*'] },
  limits: { run: { max_steps: 8 }, tree: { max_tool_calls: 24, max_tokens: 60_000, max_cost_usd: 0.25, max_depth: 2 } },
  await_expires_in: '7d',
});

const price = { input: 0.4, output: 1.6 };

export default defineConfig({
  agents: [deskAgent],
  models: {
    desk: { provider: scripted(desk), model: 'scripted-desk', price, default: true },
    flights: { provider: scripted(flights), model: 'scripted-flights', price },
    hotels: { provider: scripted(hotels), model: 'scripted-hotels', price },
  },
});
