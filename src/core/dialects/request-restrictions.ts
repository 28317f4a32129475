/**
 * Fields by which a client says where its data may not go, who may not serve it or what it may not cost. A call goes
 * out with them or not at all: left out as a field that the upstream does not take, they would allow what they forbid.
 */
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'

/** Members of an object that restrict; by value, as some restrict only where they say yes or no. */
type Members = Readonly<Record<string, (value: unknown, whole: Json) => boolean>>

const isGiven = (value: unknown): boolean =>
  value !== null && value !== undefined && value !== false && value !== '' && !isEmpty(value)
const isEmpty = (value: unknown): boolean => typeof value === 'object' && Object.keys(value!).length === 0
const isNo = (value: unknown): boolean => value === false

/**
 * OpenRouter's `provider` ("Provider routing", 2026-11), in snake and in camel case. `order` restricts where nothing
 * else may be tried.
 */
const openrouterMembers: Members = {
  data_collection: value => value === 'deny',
  dataCollection: value => value === 'deny',
  zdr: isGiven,
  only: isGiven,
  ignore: isGiven,
  order: (value, { allow_fallbacks: snake, allowFallbacks: camel }) => isGiven(value) && (isNo(snake) || isNo(camel)),
  allow_fallbacks: isNo,
  allowFallbacks: isNo,
  require_parameters: isGiven,
  requireParameters: isGiven,
  enforce_distillable_text: isGiven,
  enforceDistillableText: isGiven,
  quantizations: isGiven,
  max_price: isGiven,
  maxPrice: isGiven,
}

/** Vercel's `providerOptions.gateway` ("Zero data retention", "Disallow prompt training", "Provider options", 2026). */
const gatewayMembers: Members = { zeroDataRetention: isGiven, disallowPromptTraining: isGiven, only: isGiven }

/** Groq's `search_settings` (types of groq-sdk 1.7.0): which pages a search may find. */
const groqMembers: Members = { include_domains: isGiven, exclude_domains: isGiven, country: isGiven }

/** The restricting members of an object; undefined = none. */
function part(value: unknown, members: Members): Json | undefined {
  if (!isObject(value)) return undefined
  const kept = Object.entries(value).filter(([name, one]) => Object.hasOwn(members, name) && members[name]!(one, value))
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}

function vercelPart(value: unknown): Json | undefined {
  const gateway = isObject(value) ? part(value.gateway, gatewayMembers) : undefined
  return gateway && { gateway }
}

/** By field: what of its value restricts; undefined = nothing. */
const parts: Readonly<Record<string, (value: unknown) => Json | undefined>> = {
  provider: value => part(value, openrouterMembers),
  providerOptions: vercelPart,
  provider_options: vercelPart,
  search_settings: value => part(value, groqMembers),
}

/** What of a steering field may pass to a host that honours it, as it only narrows; undefined = nothing does. */
export function restrictingPart(field: string, value: unknown): Json | undefined {
  return Object.hasOwn(parts, field) ? parts[field]!(value) : undefined
}

/**
 * Fields that restrict as a whole: Anthropic's place of inference (platform.claude.com/docs, "Data residency"),
 * LiteLLM's region, and filters of searches: Perplexity, xAI (each host's API reference, 2026-11).
 */
const wholes: Readonly<Record<string, (value: unknown) => boolean>> = {
  inference_geo: value => isGiven(value) && value !== 'global',
  allowed_model_region: isGiven,
  search_domain_filter: isGiven,
  search_language_filter: isGiven,
  search_recency_filter: isGiven,
  search_after_date_filter: isGiven,
  search_before_date_filter: isGiven,
  last_updated_after_filter: isGiven,
  last_updated_before_filter: isGiven,
  search_mode: isGiven,
  disable_search: isGiven,
  search_parameters: value =>
    isObject(value) && (value.mode === 'off' || isGiven(value.sources) || isGiven(value.from_date ?? value.to_date)),
  'web_search_options.filters': isGiven,
  'web_search_options.allowed_domains': isGiven,
  'web_search_options.blocked_domains': isGiven,
  'web_search_options.search_domain_filter': isGiven,
}

/** Whether what a client sent at a path (`a.b`) restricts; `read` = the value of a top-level field. */
export function restricts(path: string, read: (field: string) => unknown): boolean {
  const [field = '', member] = path.split('.')
  const value = read(field)
  if (Object.hasOwn(parts, path)) return parts[path]!(value) !== undefined
  if (!Object.hasOwn(wholes, path)) return false
  return wholes[path]!(member === undefined ? value : isObject(value) ? value[member] : undefined)
}
