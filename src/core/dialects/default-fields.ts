/**
 * Fields that a deployment gives to calls which have none of their own: a temperature, an effort of reasoning, and what
 * its host takes beyond the dialect. They are named as in OpenAI's chats, and said in the words of each dialect.
 */
import { restricts } from './request-restrictions.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import type { Edit } from '../../lib/json/json-body.ts'
import type { Dialect } from '../provider.ts'

/** One field, set where a body has none of `unless`. */
interface DefaultField {
  readonly edit: Edit
  readonly unless: readonly string[]
}

/** By dialect; without entries for those that have none of the fields. */
export type FieldDefaults = ReadonlyMap<Dialect, readonly DefaultField[]>

/** What the entry of a model gives, in the words of OpenAI's chats. */
export type GivenDefaults = Readonly<Partial<Record<(typeof defaultFieldNames)[number], unknown>>> & {
  /** Fields beyond the dialect, by name. */
  readonly extra_body?: Readonly<Record<string, unknown>> | undefined
}

/** All but `extra_body`. */
export const defaultFieldNames = [
  'temperature',
  'top_p',
  'top_k',
  'frequency_penalty',
  'presence_penalty',
  'seed',
  'stop',
  'thinking',
  'reasoning_effort',
] as const

type FieldTranslations = Readonly<
  Partial<Record<(typeof defaultFieldNames)[number], (value: unknown) => readonly [field: string, value: unknown]>>
>

const same = (...names: (typeof defaultFieldNames)[number][]): FieldTranslations =>
  Object.fromEntries(names.map(name => [name, (value: unknown) => [name, value]]))

/** Where they differ from OpenAI's chats, a field is under another name, or inside another one. */
const translations: Partial<Record<Dialect, FieldTranslations>> = {
  'openai-chat': same(...defaultFieldNames),
  'openai-completions': same('temperature', 'top_p', 'top_k', 'frequency_penalty', 'presence_penalty', 'seed', 'stop'),
  'openai-responses': { ...same('temperature', 'top_p'), reasoning_effort: effort => ['reasoning', { effort }] },
  'anthropic-messages': {
    ...same('temperature', 'top_p', 'top_k', 'thinking'),
    stop: value => ['stop_sequences', [value].flat()],
    reasoning_effort: effort =>
      effort === 'none'
        ? ['thinking', { type: 'disabled' }]
        : ['output_config', { effort: effort === 'minimal' ? 'low' : effort }],
  },
}
/** A body with one of these says itself how it reasons. */
const reasoning = ['reasoning_effort', 'thinking', 'reasoning', 'output_config']
const withExtraBody: ReadonlySet<Dialect> = new Set(['openai-chat', 'openai-completions', 'openai-embeddings'])

/** undefined = the entry gives none. */
export function fieldDefaults({ extra_body: extra = {}, ...given }: GivenDefaults): FieldDefaults | undefined {
  const defaults = new Map<Dialect, DefaultField[]>()
  const add = (dialect: Dialect, field: string, value: unknown): void => {
    const unless = reasoning.includes(field) ? reasoning : [field]
    const list = defaults.get(dialect) ?? []
    defaults.set(dialect, [...list, { edit: { set: field, json: JSON.stringify(value) }, unless }])
  }
  for (const [dialect, said] of Object.entries(translations) as [Dialect, FieldTranslations][])
    for (const name of defaultFieldNames) {
      const value = given[name]
      const say = said[name]
      if (value !== undefined && say) add(dialect, ...say(value))
    }
  const restricting = restrictionsIn(extra)
  for (const [field, value] of Object.entries(restricting ?? {})) add('openai-responses', field, value)
  for (const dialect of withExtraBody) for (const [field, value] of Object.entries(extra)) add(dialect, field, value)
  return defaults.size === 0 ? undefined : defaults
}

/** What of `extra_body` says where data may not go and the like; undefined = nothing. A translated call has it, too. */
export function restrictionsIn(extra: GivenDefaults['extra_body'] = {}): Readonly<Record<string, unknown>> | undefined {
  const found = Object.entries(extra).filter(([name]) => restricts(name, field => extra[field]))
  return found.length === 0 ? undefined : Object.fromEntries(found)
}

/** The body with the fields that it lacks; itself where it lacks none. */
export function withDefaults(body: JsonBody, dialect: Dialect, defaults: FieldDefaults): JsonBody {
  const missing = defaults.get(dialect)?.filter(({ unless }) => !unless.some(name => body.has(name))) ?? []
  if (missing.length === 0) return body
  return JsonBody.read(Buffer.concat(body.edited(missing.map(({ edit }) => edit))))
}
