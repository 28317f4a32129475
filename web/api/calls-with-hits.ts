/** The last calls in which a guardrail found something, or that the cache answered. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { ask } from './client.ts'

const pageRows = 20

/** Newest first, in pages. */
export function useCallsWithHits(hits: 'guardrail' | 'cache') {
  const query = useInfiniteQuery({
    queryKey: ['calls', 'hits', hits],
    queryFn: ({ pageParam, signal }) =>
      ask('GET /spend/logs/v2', { query: { hits, page_size: pageRows, cursor: pageParam }, signal }),
    initialPageParam: 'first',
    getNextPageParam: page => page.next_cursor,
  })
  return { ...query, rows: query.data?.pages.flatMap(page => page.data) }
}
