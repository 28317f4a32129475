/**
 * Texts of a body that its decoded input does not have: tools that a vendor runs, further fields of documents,
 * settings. They reach an upstream of the client's dialect as they are written.
 */
import type { Call } from '../core/call.ts'
import { isObject } from '../lib/json/json-values.ts'

/** What is said: the decoded input has nearly all of it (`unreadParts` the rest), beside ids, signatures and sound. */
const conversationFields = [
  ...['messages', 'input', 'contents', 'content', 'requests', 'prompt', 'query', 'system', 'instructions'],
  ...['systemInstruction', 'system_instruction'],
]
/** Steer the gateway, and are not sent. */
const own = 'model guardrails tags cache fallbacks context_window_fallback_dict proxy_call_id'
const passedOver: ReadonlySet<string> = new Set([...conversationFields, ...own.split(' ')])
/** Made by an upstream or by the gateway. */
const isId = (name: string): boolean => /(?:^|_)ids?$/.test(name)

/** Fields of the body that may have such texts, if only in their names. */
export function unreadFields({
  body,
  upload,
  unknownFields,
  overrides,
}: Pick<Call, 'body' | 'upload' | 'unknownFields' | 'overrides'>): readonly string[] {
  if (!body || upload) return []
  const unknown = new Set(unknownFields)
  // A dialect's own field of that name goes to its vendor.
  const isPassedOver = (name: string) =>
    passedOver.has(name) && (name !== 'fallbacks' || overrides.fallbacks !== undefined)
  const hasTexts = (name: string) => !isPassedOver(name) && !isId(name) && /^["[{]/.test(body.rawText(name) ?? '')
  return body.names().filter(name => unknown.has(name) || hasTexts(name))
}

/** The texts in these fields that are not among `known`, with U+0000 between them; empty = there are none. */
export function unreadTexts(
  { body, unknownFields }: Pick<Call, 'body' | 'unknownFields'>,
  fields: readonly string[],
  known: ReadonlySet<string>,
): string {
  const found: string[] = []
  const add = (text: string): void => {
    if (!known.has(text)) found.push(text)
  }
  const read = (value: unknown): void => {
    if (typeof value === 'string') add(value)
    else if (Array.isArray(value)) for (const one of value) read(one)
    else if (isObject(value))
      for (const [name, one] of Object.entries(value)) {
        add(name)
        if (!isId(name)) read(one)
      }
  }
  for (const field of fields) {
    if (unknownFields.includes(field)) add(field)
    if (!isId(field)) read(body!.get(field))
  }
  return found.join('\0')
}

/**
 * What vendors and the gateway make up: letters, digits and signs of base64 and of ids without a blank, and no number
 * of a person's in digits alone, as of a card or an account.
 */
const isMadeUp = (text: string): boolean => /^[\w+/=.:|-]*$/.test(text) && !/^\D*\d[\d-]{7,}\D{0,3}$/.test(text)

/** Members with words of a protocol, ids, signatures or bytes: no texts, in which a find by chance would do harm. */
const wordless: ReadonlySet<string> = new Set(
  'role type status detail format media_type mime_type mimeType outcome language data file_data b64_json'.split(' '),
)
const isWordless = (name: string): boolean =>
  wordless.has(name) || isId(name) || /^encrypted_|signatures?$|Signatures?$|Id$/.test(name)

/**
 * The texts inside of a conversation that are not among `known`, with U+0000 between them: citations, searches of a
 * vendor's tools, members that only the upstream knows. A translation leaves them out. Empty = there are none.
 */
export function unreadParts(body: NonNullable<Call['body']>, known: ReadonlySet<string>): string {
  const found: string[] = []
  const read = (value: unknown): void => {
    if (typeof value === 'string') {
      if (value !== '' && !known.has(value) && !value.startsWith('data:')) found.push(value)
    } else if (Array.isArray(value)) for (const one of value) read(one)
    else if (isObject(value))
      for (const [name, one] of Object.entries(value)) {
        if (!isWordless(name) && !isSecretThinking(name, value)) read(one)
      }
  }
  for (const field of conversationFields) if (body.has(field)) read(body.get(field))
  return found.join('\0')
}

const isSecretThinking = (name: string, { type }: Readonly<Record<string, unknown>>): boolean =>
  name === 'data' && type === 'redacted_thinking'

/** Longer ones are signatures and secret thinking, in which a word stands by chance. */
const idLengthMax = 128

/**
 * What stands in a conversation where an id, a signature or secret thinking of a vendor belongs: a client may write any
 * text there, and it goes out as it is. Each with U+0000 between them; `likely` = ids by their form.
 */
export function opaqueTexts(body: NonNullable<Call['body']>): { readonly likely: string; readonly unlikely: string } {
  const likely: string[] = []
  const unlikely: string[] = []
  const read = (value: unknown): void => {
    if (Array.isArray(value)) for (const one of value) read(one)
    else if (isObject(value))
      for (const [name, one] of Object.entries(value)) {
        if (typeof one !== 'string') read(one)
        else if ((isWordless(name) && !wordless.has(name)) || isSecretThinking(name, value)) {
          if (!isMadeUp(one)) unlikely.push(one)
          else if (one.length <= idLengthMax) likely.push(one)
        }
      }
  }
  for (const field of conversationFields) if (body.has(field)) read(body.get(field))
  return { likely: likely.join('\0'), unlikely: unlikely.join('\0') }
}

/** Whether a find in what may be a random id is none by chance: four letters that stand together. */
export const isWordInId = (found: string): boolean => /\p{L}{4}/u.test(found)

/** Adds the texts inside of JSON that is known as a whole: the arguments of a tool are an object in some dialects. */
export function addInner(known: Set<string>, json: string): void {
  const add = (value: unknown): void => {
    if (typeof value === 'string') known.add(value)
    else if (Array.isArray(value)) for (const one of value) add(one)
    else if (isObject(value)) for (const one of Object.values(value)) add(one)
  }
  try {
    add(JSON.parse(json))
  } catch {
    // It is known as the text that it is.
  }
}
