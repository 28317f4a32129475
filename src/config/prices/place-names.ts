/**
 * The names of a model in a price list by where a call is computed: lists have the prices of a region of Bedrock in
 * rows of their own (`eu-west-2/minimax.minimax-m2.5`), and those of inference profiles (`eu.amazon.nova-lite-v1:0`).
 */
import { listName, listNames } from './model-names.ts'
import { claudeByPlace } from './place-premiums.ts'

/** The region in which a deployment's calls are priced; undefined = its names say all that its price depends on. */
export function placeOf(provider: string, options: Readonly<Record<string, unknown>>): string | undefined {
  const { aws_region_name: region } = options
  return provider === 'bedrock' && typeof region === 'string' ? region : undefined
}

/** A profile of Bedrock and the model that it is of. */
const profiled = /^(us|eu|apac|au|jp|ca|us-gov|global)\.(\w.*)$/

/** Profiles by calling region, the closest first (docs.aws.amazon.com/bedrock, "inference profiles", 2026-11). */
const profilesByRegion: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^us-gov-/, ['us-gov']],
  [/^us-/, ['us']],
  [/^eu-/, ['eu']],
  [/^ca-/, ['ca', 'us']],
  [/^ap-northeast-[13]$/, ['jp', 'apac']],
  [/^ap-southeast-[24]$/, ['au', 'apac']],
  [/^ap-/, ['apac']],
]

/** A region of each profile, for questions about prices that name none. */
const regionByProfile: ReadonlyMap<string, string> = new Map([
  ['eu', 'eu-west-1'],
  ['apac', 'ap-southeast-1'],
  ['au', 'ap-southeast-2'],
  ['jp', 'ap-northeast-1'],
  ['ca', 'ca-central-1'],
  ['us-gov', 'us-gov-west-1'],
])

/** Where a model of Bedrock is priced without a region: in its profile, else in the oldest region. */
export function usualRegion(model: string): string {
  const [, profile = ''] = profiled.exec(listName(model)) ?? []
  return regionByProfile.get(profile) ?? 'us-east-1'
}

const profilesOf = (region: string): readonly string[] =>
  profilesByRegion.find(([pattern]) => pattern.test(region))?.[1] ?? []

/** In the names of Bedrock. */
const claudeWithPremium = new RegExp(`(?:^|\\.)anthropic\\.${claudeByPlace.models}`)

/**
 * The names of a model in groups, the closest to the place first: a row of an earlier group is the better one, in
 * each list. Inference across regions costs what the calling region costs, but where a list has the profile itself.
 */
export function namesInPlace(model: string, place: string | undefined): readonly (readonly string[])[] {
  if (place === undefined) return [listNames(model)]
  const [, profile, bare = model] = profiled.exec(listName(model)) ?? []
  const prefixed = (prefixes: readonly string[], mark: string) =>
    prefixes.flatMap(prefix => listNames(bare).map(name => `${prefix}${mark}${name}`))
  if (profile === 'global') return [prefixed(['global'], '.'), listNames(model)]
  const ofRegion = prefixed([place], '/')
  // Other models of Anthropic's cost in a profile what a list says of the profile, and nothing else tells it.
  const others = [...listNames(model), ...(claudeWithPremium.test(bare) ? listNames(bare) : [])]
  if (profile !== undefined) return [prefixed([profile], '.'), ofRegion, others]
  return [ofRegion, prefixed(profilesOf(place), '.'), listNames(model)]
}

/**
 * Whether a row has the global price of a model that costs more in one place (`claudeByPlace`), and the call is
 * computed in one.
 */
export function lacksPremium(model: string, row: string, place: string | undefined): boolean {
  if (place === undefined || !claudeWithPremium.test(row)) return false
  return !profiled.test(row) && !row.includes('/') && !listName(model).startsWith('global.')
}

/** The country or continent of a region: `eu-west-3` is in `eu-`. */
const continentOf = (region: string): string => /^(?:us-gov|[a-z]+)-/.exec(region)?.[0] ?? region

/**
 * The rows of a model in other regions of the same continent, for a region that no list has: prices differ by the
 * region there, and the dearest holds. Regions of the United States cost what the list says without a region.
 */
export function neighboursOf(names: Iterable<string>, model: string, place: string | undefined): readonly string[] {
  if (place === undefined || /^us-(?!gov-)/.test(place)) return []
  const [, profile, bare = model] = profiled.exec(listName(model)) ?? []
  if (profile === 'global') return []
  const ends = listNames(bare).map(name => `/${name}`)
  const continent = continentOf(place)
  return [...names].filter(name => name.startsWith(continent) && ends.some(end => name.endsWith(end)))
}
