/** The paragraphs of a page that a query is about, in the order in which they stand, with the numbers of their pages. */
import { excerptOf, queryWords, wordsIn } from './excerpt.js';

export interface Passage {
  page: number;
  excerpt: string;
}

export interface Found {
  passages: Passage[];
  /** Of all that were found, also those that are left out. */
  total: number;
}

const MOST_PASSAGES = 8;

/** Paragraphs with the most words of the query are kept; where none has them all, those with some. */
export function findInPage(pages: readonly string[], query: string): Found {
  const words = queryWords(query);
  const paragraphs = pages.flatMap((text, page) => text.split(/\n{2,}/).map((paragraph) => ({ page, paragraph })));
  const hits = paragraphs
    .map((place, index) => ({ ...place, index, count: wordsIn(place.paragraph, words) }))
    .filter(({ count }) => count > 0);
  const kept = hits
    .toSorted((a, b) => b.count - a.count || a.index - b.index)
    .slice(0, MOST_PASSAGES)
    .toSorted((a, b) => a.index - b.index);
  return {
    total: hits.length,
    passages: kept.map(({ page, paragraph }) => ({ page, excerpt: excerptOf(paragraph, query) })),
  };
}
