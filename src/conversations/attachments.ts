/** Files that are sent with a question: which kinds there are, and how a model gets them. */
import type { Attachment } from '../core/objects/conversations.ts'
import { GatewayError, unprocessable } from '../core/errors.ts'
import type { Json } from '../lib/json/json-values.ts'
import { mediaTypeOf } from '../lib/media-type.ts'

/** In base64 they are a third longer, and a vendor takes few that are larger. */
const attachmentBytesMax = 20 * 1024 * 1024
/** A text goes into the prompt as it is. */
const textBytesMax = 1024 * 1024

/** Every media type that an attachment may have; texts of all kinds are `text/plain`. */
export const attachmentTypes = [
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'application/pdf',
  'audio/wav',
  'audio/mpeg',
  'text/plain',
] as const

/** A file as it was sent. */
export interface GivenFile {
  readonly name: string
  readonly bytes: Buffer
}

/**
 * The media type by the bytes, not by the name. Throws `unprocessable` for another kind, and `too-large`; `at` =
 * its index among the attachments.
 */
export function attachmentType({ name, bytes }: GivenFile, at: number): (typeof attachmentTypes)[number] {
  if (bytes.length > attachmentBytesMax)
    throw tooLarge(at, name, `${bytes.length} bytes; a file may have ${attachmentBytesMax}`)
  const mediaType = mediaTypeOf(bytes, name)
  const type =
    attachmentTypes.find(one => one === mediaType) ?? (mediaType.startsWith('text/') ? 'text/plain' : undefined)
  if (bytes.length === 0 || !type)
    throw unprocessable([
      {
        loc: ['body', 'attachments', at, 'data'],
        msg: 'is no picture (PNG, JPEG, GIF, WebP), PDF, sound (WAV, MP3) or text in UTF-8; send one of these',
        type: 'invalid',
      },
    ])
  if (type === 'text/plain' && bytes.length > textBytesMax)
    throw tooLarge(at, name, `${bytes.length} bytes; a text may have ${textBytesMax}`)
  return type
}

const tooLarge = (at: number, name: string, why: string): GatewayError =>
  new GatewayError('too-large', `the file '${name.slice(0, 100)}' has ${why}`, { param: `attachments.${at}` })

/** A part of a chat message, in OpenAI's words. */
export function partOf({ name, media_type: type }: Omit<Attachment, 'id'>, bytes: Buffer): Json {
  if (type === 'text/plain') return { type: 'text', text: `${name}:\n\n${bytes.toString()}` }
  const data = bytes.toString('base64')
  if (type.startsWith('image/')) return { type: 'image_url', image_url: { url: `data:${type};base64,${data}` } }
  if (type.startsWith('audio/'))
    return { type: 'input_audio', input_audio: { data, format: type === 'audio/wav' ? 'wav' : 'mp3' } }
  return { type: 'file', file: { filename: name, file_data: `data:${type};base64,${data}` } }
}
