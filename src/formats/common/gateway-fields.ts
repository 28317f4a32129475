/**
 * Fields for the gateway itself, and fields by which a client could try to choose the upstream's host or key
 * (CVE-2024-6587): accepted, and never part of what a provider sees.
 */
import * as type from '../../core/dialects/fields.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { CheckedField, Path, ProblemList } from './field-checks.ts'

/** The router tries no more for any call. */
const retriesMost = 10
/** A day. */
const timeoutMostS = 86_400
const fallbacksMax = 10

/** A year. */
const secondsMost = 31_536_000
const namespaceLengthMax = 200
/** By name: of LiteLLM's `cache` object. */
const cacheProperties: Readonly<Record<string, { readonly type: 'boolean' | 'number' | 'string' }>> = {
  'no-cache': { type: 'boolean' },
  'no-store': { type: 'boolean' },
  'use-cache': { type: 'boolean' },
  ttl: { type: 'number' },
  's-maxage': { type: 'number' },
  's-max-age': { type: 'number' },
  namespace: { type: 'string' },
}

const timeout: CheckedField = {
  name: 'timeout',
  schema: type.number(0, timeoutMostS),
  description: 'Seconds that an attempt may take, a stream until it begins; 0 = as configured.',
}

/** By which a client steers the gateway (core/overrides.ts), in bodies of all dialects but Gemini's. */
export const overrideFields: readonly CheckedField[] = [
  {
    name: 'guardrails',
    schema: type.texts,
    description: 'Names of guardrails for this call, beside those that hold anyway.',
  },
  {
    name: 'caching',
    schema: type.boolean,
    description: 'true = a kept answer may be given where the cache is on for those who ask; false = never.',
  },
  {
    name: 'num_retries',
    schema: type.integer(0, retriesMost),
    description: 'How many attempts are made after the first one.',
  },
  {
    name: 'context_window_fallback_dict',
    schema: type.textMap,
    description: 'Model -> the model for conversations that are too long for it.',
  },
  {
    name: 'fallbacks',
    schema: {
      type: 'array',
      items: type.anyOf(type.text, { type: 'object', required: ['model'] }),
      maxItems: fallbacksMax,
    },
    check: checkFallbacks,
    description: 'Models to try after this one; [] = none.',
  },
  {
    name: 'cache',
    schema: { type: 'object', properties: cacheProperties },
    check: checkCache,
    description: 'What may be done with kept answers (docs/cache.md).',
  },
  {
    name: 'drop_params',
    schema: type.boolean,
    description: 'true = fields that the model lacks are left out and named in a header; false = they are refused.',
  },
  { name: 'no-log', schema: type.boolean, description: 'true = request and answer are not stored.' },
  timeout,
]

const neverUsed = 'It is accepted for compatibility and never used, and named as dropped.'

/** Fields of embeddings that would choose host, key or code: checked for their types, and never used. */
export const embeddingsGatewayFields: readonly CheckedField[] = [
  timeout,
  ...['api_base', 'api_version', 'api_key', 'api_type', 'logger_fn'].map(name => ({
    name,
    schema: type.text,
    description: neverUsed,
  })),
  {
    name: 'proxy_call_id',
    schema: type.text,
    description: 'The id that the client gives the call, which has up to 128 letters, digits and . _ : / @ = + ~ -',
  },
  {
    name: 'custom_llm_provider',
    schema: type.anyOf(type.text, type.object),
    check(value, problems) {
      if (typeof value !== 'string' && !isObject(value))
        problems.wrong(['custom_llm_provider'], 'a string or an object', value)
    },
    description: neverUsed,
  },
  { name: 'proxy_logging_obj', schema: type.object, description: neverUsed },
  {
    name: 'caching',
    schema: type.boolean,
    description: 'true = kept vectors may be given where the cache is on for those who ask; false = never.',
  },
]

/** Those of them that the answer names as dropped when a client sends them. */
export const ignoredFields: readonly string[] = [
  ...['api_base', 'api_version', 'api_key', 'api_type', 'logger_fn', 'custom_llm_provider', 'proxy_logging_obj'],
]

/** Of no dialect's checks, and of no upstream's business. */
const otherNames = ['base_url', 'headers', 'extra_headers', 'organization', 'user_config', 'tags']

/** The names of all of them. */
export const gatewayFields: ReadonlySet<string> = new Set([
  ...overrideFields.map(field => field.name),
  ...embeddingsGatewayFields.map(field => field.name),
  ...otherNames,
])

const gatewayRows: ReadonlySet<object> = new Set([...overrideFields, ...embeddingsGatewayFields])

/**
 * The names that are the gateway's in a dialect with these rows. A field of the vendor's with the same name is the
 * vendor's there: clients write it for the vendor, and only the vendor knows what it may hold.
 */
export function gatewayFieldsBeside(rows: readonly { readonly name: string }[]): ReadonlySet<string> {
  const vendors = new Set(rows.filter(row => !gatewayRows.has(row)).map(({ name }) => name))
  const isShared = [...gatewayFields].some(name => vendors.has(name))
  return isShared ? new Set([...gatewayFields].filter(name => !vendors.has(name))) : gatewayFields
}

function checkCache(value: unknown, problems: ProblemList): void {
  if (!isObject(value)) return problems.wrong(['cache'], 'an object such as {"no-cache": true}', value)
  for (const [name, one] of Object.entries(value)) {
    const { type: wanted } = (Object.hasOwn(cacheProperties, name) && cacheProperties[name]) || {}
    if (wanted === undefined)
      problems.add(
        ['cache', name.slice(0, 100)],
        `is not known; there are ${Object.keys(cacheProperties).join(', ')}`,
        'unknown_value',
      )
    else if (one === null) continue
    else if (wanted === 'number' && !(typeof one === 'number' && one >= 0 && one <= secondsMost))
      problems.wrong(['cache', name], `a number of seconds from 0 to ${secondsMost}`, one)
    else if (wanted === 'boolean' && typeof one !== 'boolean') problems.wrong(['cache', name], 'true or false', one)
    else if (wanted === 'string' && !(typeof one === 'string' && one.length <= namespaceLengthMax))
      problems.wrong(['cache', name], `a text of at most ${namespaceLengthMax} characters`, one)
  }
}

function checkFallbacks(value: unknown, problems: ProblemList): void {
  const what = 'the name of a model, or {"model": ...}'
  if (!Array.isArray(value)) return problems.wrong(['fallbacks'], 'an array of names of models', value)
  if (value.length > fallbacksMax)
    problems.add(
      ['fallbacks'],
      `\`fallbacks\` must have at most ${fallbacksMax} entries; got ${value.length}`,
      'out_of_range',
    )
  for (let at = 0; at < value.length && !problems.full; at++) {
    const one: unknown = value[at]
    if (!isObject(one)) checkModelName(one, ['fallbacks', at], what, problems)
    else {
      checkModelName(one.model, ['fallbacks', at, 'model'], 'the name of a model', problems)
      for (const other of Object.keys(one))
        if (other !== 'model')
          problems.add(
            ['fallbacks', at, other],
            'is not supported: a fallback gets the call as it is; leave it out',
            'unsupported',
          )
    }
  }
}

function checkModelName(value: unknown, path: Path, what: string, problems: ProblemList): void {
  if (typeof value !== 'string' || value === '') problems.wrong(path, what, value)
}
