/**
 * Texts of a body that its decoded input does not have: tools that a vendor runs, further fields of documents,
 * settings. They reach an upstream of the client's dialect as they are written.
 */
import type { Call } from '../core/call.ts'
import { isObject } from '../lib/json/json-values.ts'

/** What is said: the decoded input has all of it. It also holds ids, signatures and sound, which are no texts. */
const conversation =
  'messages input contents content requests prompt query system instructions systemInstruction system_instruction'
/** Steer the gateway, and are not sent. */
const own = 'model guardrails tags cache fallbacks context_window_fallback_dict proxy_call_id'
const passedOver: ReadonlySet<string> = new Set(`${conversation} ${own}`.split(' '))
/** Made by an upstream or by the gateway. */
const isId = (name: string): boolean => /(?:^|_)ids?$/.test(name)

/** Fields of the body that may have such texts. */
export function unreadFields({ body, upload }: Pick<Call, 'body' | 'upload'>): readonly string[] {
  if (!body || upload) return []
  return body.names().filter(name => !passedOver.has(name) && !isId(name) && /^["[{]/.test(body.rawText(name) ?? ''))
}

/** The texts in these fields that are not among `known`, with U+0000 between them; empty = there are none. */
export function unreadTexts(
  body: NonNullable<Call['body']>,
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
  for (const field of fields) read(body.get(field))
  return found.join('\0')
}
