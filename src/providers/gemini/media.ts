/** Images, audio and files as parts of a Gemini request (ai.google.dev/api/caching, "Part"). */
import { refusedMedia } from '../common/refused-media.ts'
import type { Part, Source } from '../../core/hub/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { shownUrl } from '../common/image-urls.ts'
import type { ReadableUrls } from '../common/image-urls.ts'

const filesApi = 'https://generativelanguage.googleapis.com/v1beta/'
/** Addresses that Google itself can read: Cloud Storage, its Files API, YouTube. */
const readable = new RegExp(
  '^(gs://|https://generativelanguage\\.googleapis\\.com/|' +
    'https://(www\\.)?youtube\\.com/watch\\?|https://youtu\\.be/)',
  'i',
)

/** The same for images of a request. */
export const readableImages: ReadableUrls = { pattern: readable, scheme: 'gs://' }

const mediaTypes: ReadonlyMap<string, string> = new Map(
  Object.entries<string>({
    png: 'image/png',
    jpg: 'image/jpeg',
    jpeg: 'image/jpeg',
    webp: 'image/webp',
    gif: 'image/gif',
    heic: 'image/heic',
    heif: 'image/heif',
    pdf: 'application/pdf',
    txt: 'text/plain',
    md: 'text/markdown',
    html: 'text/html',
    csv: 'text/csv',
    xml: 'text/xml',
    json: 'application/json',
    mp3: 'audio/mp3',
    wav: 'audio/wav',
    flac: 'audio/flac',
    ogg: 'audio/ogg',
    aac: 'audio/aac',
    aiff: 'audio/aiff',
    m4a: 'audio/m4a',
    mp4: 'video/mp4',
    mpeg: 'video/mpeg',
    mov: 'video/mov',
    avi: 'video/avi',
    webm: 'video/webm',
    wmv: 'video/wmv',
    '3gp': 'video/3gpp',
  }),
)

/** Office documents and archives: ai.google.dev/gemini-api/docs/document-processing (2026-11). */
const unreadable = /^application\/(?:vnd\.|msword|zip|x-zip)/i

type MediaPart = Extract<Part, { type: 'image' | 'audio' | 'document' }>

/** `named` = the host takes the names of files. Throws `invalid-request` for an address that Google cannot read. */
export function mediaPart(part: MediaPart, named: boolean): Json {
  if (part.type === 'audio') return { inlineData: { mimeType: audioType(part.format), data: part.data } }
  if (part.type === 'image') return sourcePart(part.source, 'image')
  if ('data' in part.source && unreadable.test(part.source.mediaType))
    throw refusedMedia(part, 'PDF or text (a PDF of the document, or its text)')
  return sourcePart(part.source, 'file', named && part.name !== undefined ? { displayName: part.name } : {})
}

function sourcePart(source: Source, what: 'image' | 'file', name: Json = {}): Json {
  if ('data' in source) return { inlineData: { mimeType: source.mediaType, data: source.data, ...name } }
  const uri = 'url' in source ? source.url : fileUri(source.fileId)
  if (!readable.test(uri))
    throw new GatewayError(
      'invalid-request',
      `this model cannot fetch the ${what} ${shownUrl(uri)} by itself; send its bytes as a data: URL, ` +
        'or the address of a file at Google (gs:// or of the Files API)',
      { param: 'messages' },
    )
  const mimeType = mediaTypes.get(extension(uri))
  return { fileData: { fileUri: uri, ...(mimeType !== undefined && { mimeType }), ...name } }
}

/** Ids of the Files API are `files/abc`. */
function fileUri(id: string): string {
  return /^files\/[A-Za-z0-9_-]+$/.test(id) ? filesApi + id : id
}

function audioType(format: string): string {
  const name = format.toLowerCase().replace(/^audio\//, '')
  if (!/^[a-z0-9.+-]+$/.test(name))
    throw new GatewayError('invalid-request', 'the `format` of an audio part must be a name such as "wav" or "mp3"', {
      param: 'messages',
    })
  return mediaTypes.get(name) ?? `audio/${name}`
}

function extension(uri: string): string {
  const path = uri.split(/[?#]/, 1)[0]!
  return path.slice(path.lastIndexOf('.') + 1).toLowerCase()
}
