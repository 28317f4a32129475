/**
 * OpenAI's `web_search_options` as Claude's own search (platform.claude.com/docs, "Web search tool"); the amount of
 * context is how often it may search, as LiteLLM 1.110.2 has it.
 */
import { isObject, objectOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'

const searchesOf: ReadonlyMap<unknown, number> = new Map([
  ['low', 1],
  ['medium', 5],
  ['high', 10],
])
/** Members that the tool has under the same name; either list of domains, not both. */
const sameMembers = ['allowed_domains', 'blocked_domains'] as const
const placeMembers = ['city', 'region', 'country', 'timezone'] as const

/** The tool, and the members of the options that it has no word for, by their path. */
export function webSearchTool(options: unknown): { readonly tool: Json; readonly lost: readonly string[] } {
  const { search_context_size: size, user_location: location, filters, ...others } = objectOf(options)
  const searches = searchesOf.get(size ?? undefined)
  const place = isObject(location) ? objectOf(location.approximate ?? location) : {}
  const given = placeMembers.filter(name => typeof place[name] === 'string')
  const lists = { ...objectOf(filters), ...others }
  const taken = sameMembers.filter(name => Array.isArray(lists[name]))
  const refused = Object.keys(lists).filter(name => lists[name] != null && !taken.some(one => one === name))
  const lost = [
    ...(size != null && searches === undefined ? ['search_context_size'] : []),
    ...(location != null && given.length === 0 ? ['user_location'] : []),
    ...refused.map(name => (name in others ? name : 'filters')),
  ]
  return {
    tool: {
      type: 'web_search_20250305',
      name: 'web_search',
      ...(searches !== undefined && { max_uses: searches }),
      ...(given.length > 0 && {
        user_location: { type: 'approximate', ...Object.fromEntries(given.map(name => [name, place[name]])) },
      }),
      ...Object.fromEntries(taken.map(name => [name, lists[name]])),
    },
    lost: [...new Set(lost)].map(name => `web_search_options.${name}`),
  }
}
