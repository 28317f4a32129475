/** Input for hosts that take texts and pictures by address alone: no files, no reasoning, only texts as results. */
import { GatewayError } from '../../../core/errors.ts'
import { objectsOf } from '../../../lib/json/json-values.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import { joinTexts } from '../texts.ts'

interface PlainInput {
  readonly items: Json[]
  /** What such items have no field for. */
  readonly dropped: string[]
}

/**
 * The items in order; pictures of results follow them in a message of the user, and reasoning is left out. Throws
 * `invalid-request` for documents, and for pictures by file id.
 */
export function plainInput(items: readonly Json[]): PlainInput {
  const out: Json[] = []
  const dropped = new Set<string>()
  let media: Json[] = []
  for (const item of items) {
    if (item.type === 'reasoning') continue
    if (item.type === 'function_call_output') {
      const { texts, others } = parted(item.output)
      out.push({ ...item, output: joinTexts(texts) })
      media.push(...others)
      continue
    }
    if (media.length > 0) out.push(message('user', media, dropped))
    media = []
    out.push(item.type === undefined ? message(item.role, item.content, dropped) : item)
  }
  if (media.length > 0) out.push(message('user', media, dropped))
  return { items: out, dropped: [...dropped] }
}

function parted(output: unknown): { texts: string[]; others: Json[] } {
  if (!Array.isArray(output)) return { texts: [String(output)], others: [] }
  const parts = objectsOf(output)
  return {
    texts: parts.filter(isText).map(part => String(part.text)),
    others: parts.filter(part => !isText(part)),
  }
}

const isText = ({ type }: Json): boolean => type === 'input_text'

function message(role: unknown, content: unknown, dropped: Set<string>): Json {
  const parts = Array.isArray(content) ? objectsOf(content).map(part => plainPart(part, dropped)) : content
  return { type: 'message', role, content: parts }
}

function plainPart(part: Json, dropped: Set<string>): Json {
  if (isText(part)) return part
  if (part.type !== 'input_image' || typeof part.image_url !== 'string')
    throw new GatewayError(
      'invalid-request',
      part.type === 'input_image'
        ? 'this model takes no images by file id; send `image_url` with an address or a data URL'
        : 'this model takes no documents; send their text',
      { param: 'messages' },
    )
  if (part.detail !== undefined && part.detail !== 'auto') dropped.add('messages.content.image_url.detail')
  return { type: 'input_image', image_url: part.image_url }
}
