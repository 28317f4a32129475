/** What an upstream refuses or names differently, compiled per deployment: both lanes obey the same rules. */

import { isObject } from '../../lib/json/json-values.ts'

/** What becomes of a field that the client sent. */
export type FieldVerdict =
  /** It is sent as it is. */
  | 'keep'
  /** It is left out, and reported. */
  | 'drop'
  /** It is left out, and nothing is lost: it asked for what is so anyway. */
  | 'omit'
  /** It is sent otherwise. */
  | FieldChange

/** How a field is sent. */
export interface FieldChange {
  /** Absent = its own. Where the client sent this one too, the client's counts. */
  readonly name?: string
  /** Absent = what the client sent. */
  readonly value?: unknown
  /** It is not what was requested, and reported: by its name, or by this path. */
  readonly lost?: boolean | string
}

/** Reads another field of the same request; undefined = it is absent. */
export type FieldReader = (name: string) => unknown

/** Judges one field by its value. Pure. */
export type FieldRule = (value: unknown, read: FieldReader) => FieldVerdict

/** Members inside of a field's value that the upstream refuses or names differently. */
export interface MemberRules {
  /** By path, lists left out: `reasoning_content`, `content.cache_control`. undefined = removed, else its new name. */
  readonly paths: ReadonlyMap<string, string | undefined>
  /** The names of these members in quotes, in bytes: a body without any of them is not read. */
  readonly needles: readonly Uint8Array[]
}

/** How an upstream's own format differs from the pure dialect. */
export interface FieldRules {
  /** By the field's name at the top level. */
  readonly fields: ReadonlyMap<string, FieldRule>
  /** By the field's name: what is refused inside of it. */
  readonly inside?: ReadonlyMap<string, MemberRules>
  /** Fields that the translation can say in the upstream's words: a request with one of them is translated. */
  readonly translated?: readonly string[]
  /** true = its Responses take texts and pictures by address alone. */
  readonly plainInput?: true
  /** false = the host refuses `stream_options`; usage is then estimated. */
  readonly streamOptions?: false
  /** The model does not go on with the assistant's last words: a turn of the user with this text follows them. */
  readonly continueText?: string
  /** true = it refuses turns of `contents` without `parts`, which say nothing: they are left out. */
  readonly withoutEmptyTurns?: true
  /** true = its model may be a Gemini, which reads the signatures of its calls (`core/dialects/call-signature.ts`). */
  readonly readsCallSignatures?: true
  /** true = its `logprobs` of chats may be the number of alternatives. */
  readonly countsLogprobs?: true
  /** true = it takes the contents of messages as texts alone: parts that are all text are translated to one. */
  readonly textContent?: true
  /** true = the host knows no `developer` role: such calls are translated instead of forwarded. */
  readonly noDeveloperRole?: true
}

/** Nothing is refused. */
export const noFieldRules: FieldRules = Object.freeze({ fields: new Map() })

/** The rule of a field that is refused at any value; `neutral` = the value that asks for nothing. */
export const refusedField =
  (neutral?: unknown): FieldRule =>
  value =>
    value === null || value === neutral ? 'omit' : 'drop'

/** Fields without a meaning at the upstream, and fields with another name there. */
export function fieldRules(
  drop: readonly string[] = [],
  rename: Readonly<Record<string, string>> = {},
): Map<string, FieldRule> {
  return new Map<string, FieldRule>([
    ...drop.map(name => [name, refusedField()] as const),
    ...Object.entries(rename).map(([name, other]) => [name, () => ({ name: other })] as const),
  ])
}

/**
 * Removes the member at `path` of the value, and of all values of lists on the way. true = it was there and asked for
 * something: not null, and not false.
 */
export function removeMember(value: unknown, path: readonly string[]): boolean {
  if (Array.isArray(value)) return value.filter(one => removeMember(one, path)).length > 0
  const [name = '', ...below] = path
  if (!isObject(value) || !(name in value)) return false
  if (below.length > 0) return removeMember(value[name], below)
  const { [name]: member } = value
  delete value[name]
  return member !== null && member !== false
}
