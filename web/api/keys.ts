/** Keys: lists, one, and changes. */
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { ask } from './client.ts'
import type { Calls } from './schema.d.ts'

/** A key in a list, with what was spent by it. */
export type ListedKey = Exclude<Calls['GET /key/list']['answer']['keys'][number], string>

const pageSize = 50

/** Which keys of a list; an empty text = any. */
export interface KeyFilter {
  /** A part of the name, of the last characters or of the name of the team, or the whole id. */
  readonly search: string
  /** The id of their team. */
  readonly team: string
  /** What they are good for. */
  readonly state: KeyState | ''
  /** What they are ordered by; undefined = the newest first. */
  readonly sort: { readonly by: 'key_alias' | 'expires'; readonly order: 'asc' | 'desc' } | undefined
}

/** What a key is good for. */
export type KeyState = NonNullable<Calls['GET /key/list']['query']['state']>

/** The keys that this person may see, page by page. */
export function useKeys({ search, team, state, sort }: KeyFilter) {
  return useInfiniteQuery({
    queryKey: ['keys', 'list', search, team, state, sort],
    queryFn: ({ pageParam, signal }) =>
      ask('GET /key/list', {
        query: {
          return_full_object: 'true',
          size: pageSize,
          search,
          team_id: team,
          ...(state !== '' && { state }),
          // Where they are in another order than that of their making, no cursor goes on behind them.
          ...(sort
            ? { sort_by: sort.by, sort_order: sort.order, page: Number(pageParam || 1) }
            : { cursor: pageParam }),
        },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: page =>
      sort ? (page.current_page < page.total_pages ? String(page.current_page + 1) : null) : page.next_cursor,
    select: ({ pages }) => ({
      rows: pages.flatMap(page => page.keys.filter(one => typeof one === 'object')),
      count: pages[0]?.total_count ?? 0,
    }),
  })
}

/** One key, by its id, with what was spent by it, and how its budget stands. */
export function useKey(id: string) {
  return useQuery({
    queryKey: ['keys', id],
    queryFn: ({ signal }) => ask('GET /key/info', { query: { key: id }, signal }),
    enabled: id !== '',
  })
}

/** A change of keys; lists of keys are read again when it is done. */
function useKeyChange<Name extends 'POST /key/generate' | 'POST /key/regenerate' | 'POST /key/delete'>(
  operation: Name,
) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (body: Calls[Name]['body']) => ask(operation, { body }),
    // The answer has the text of the key: it is forgotten with the dialog that shows it.
    gcTime: 0,
    onSuccess: () => client.invalidateQueries({ queryKey: ['keys'] }),
  })
}

export const useCreateKey = () => useKeyChange('POST /key/generate')
export const useRotateKey = () => useKeyChange('POST /key/regenerate')
export const useDeleteKeys = () => useKeyChange('POST /key/delete')

/** Blocks a key or takes the block away: shown once the gateway has done it. */
export function useBlockKey() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: ({ id, blocked }: { id: string; blocked: boolean }) =>
      ask(blocked ? 'POST /key/block' : 'POST /key/unblock', { body: { key: id } }),
    // Until it is read again the button stays busy. Also after a failure: what is shown is then what is stored.
    onSettled: () => client.invalidateQueries({ queryKey: ['keys'] }),
  })
}
