/** Images, audio and files as parts of a Gemini request (ai.google.dev/api/caching, "Part"). */
import { refusedMedia } from '../common/refused-media.ts'
import type { Part, Source } from '../../core/hub/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { shownUrl } from '../common/image-urls.ts'
import type { ReadableUrls, UrlSource } from '../common/image-urls.ts'
import type { GeminiFetch } from '../../../rules/gemini.ts'

const filesApi = 'https://generativelanguage.googleapis.com/v1beta/'
/** Addresses that Google itself can read: Cloud Storage, its Files API, YouTube. */
const readable = new RegExp(
  '^(gs://|https://generativelanguage\\.googleapis\\.com/|' +
    'https://(www\\.)?youtube\\.com/watch\\?|https://youtu\\.be/)',
  'i',
)

/** The same for images of a request, and what the host fetches from elsewhere. */
export function readableImages(fetches: GeminiFetch | undefined): ReadableUrls {
  const more = fetches?.wantsType
    ? ' or one whose end (.png, .jpg, .webp) or `format` says its type'
    : fetches && ' or an https:// one of a PNG, JPEG, WebP or BMP'
  return { reads: source => isRead(source, fetches), words: `its gs:// address${more ?? ''}` }
}

/** true = Google reads the address: its own, or one that the host fetches. */
function isRead(source: UrlSource, fetches: GeminiFetch | undefined): boolean {
  if (readable.test(source.url)) return true
  if (!fetches?.pattern.test(source.url)) return false
  const type = typeOfUrl(source)
  return type === undefined ? !fetches.wantsType : (fetches.mediaTypes?.has(type) ?? true)
}

const mediaTypes: ReadonlyMap<string, string> = new Map(
  Object.entries<string>({
    png: 'image/png',
    jpg: 'image/jpeg',
    jpeg: 'image/jpeg',
    webp: 'image/webp',
    gif: 'image/gif',
    bmp: 'image/bmp',
    heic: 'image/heic',
    heif: 'image/heif',
    pdf: 'application/pdf',
    txt: 'text/plain',
    md: 'text/markdown',
    html: 'text/html',
    css: 'text/css',
    csv: 'text/csv',
    rtf: 'text/rtf',
    js: 'text/javascript',
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
    mpg: 'video/mpg',
    flv: 'video/x-flv',
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

/** What the host takes. */
export interface MediaHost {
  /** It takes the names of files. */
  readonly fileNames: boolean
  /** What it fetches from elsewhere; undefined = nothing. */
  readonly fetches: GeminiFetch | undefined
}

/** Throws `invalid-request` for an address that Google cannot read. */
export function mediaPart(part: MediaPart, { fileNames, fetches }: MediaHost): Json {
  if (part.type === 'audio') return { inlineData: { mimeType: audioType(part.format), data: part.data } }
  if (part.type === 'image') return sourcePart(part.source, fetches)
  if ('data' in part.source && unreadable.test(part.source.mediaType))
    throw refusedMedia(part, 'PDF or text (a PDF of the document, or its text)')
  return sourcePart(part.source, fetches, fileNames && part.name !== undefined ? { displayName: part.name } : {})
}

function sourcePart(source: Source, fetches: GeminiFetch | undefined, name: Json = {}): Json {
  if ('data' in source) return { inlineData: { mimeType: source.mediaType, data: source.data, ...name } }
  const address = 'url' in source ? source : { url: fileUri(source.fileId) }
  const { url: uri, field = 'messages' } = address
  if (!isRead(address, fetches))
    throw new GatewayError(
      'invalid-request',
      `this model cannot fetch the file ${shownUrl(uri)} by itself; send its bytes as a data: URL, ` +
        `or ${readableFiles(fetches)}`,
      { param: field },
    )
  const mimeType = typeOfUrl(address)
  return { fileData: { fileUri: uri, ...(mimeType !== undefined && { mimeType }), ...name } }
}

function readableFiles(fetches: GeminiFetch | undefined): string {
  const own = 'the address of a file at Google (gs:// or of the Files API)'
  if (!fetches) return own
  return `${own}, or ${fetches.wantsType ? 'one' : 'an https:// one'} whose end says its type, as .pdf`
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

/** Members of a query by which stores name the type of what they answer: S3, Azure, image services. */
const typeMembers = ['response-content-type', 'rsct', 'format', 'fm'] as const

/** As the client says it, else by the end of the path, else by the query; undefined = not known. */
function typeOfUrl({ url, mediaType }: UrlSource): string | undefined {
  if (mediaType !== undefined) return mediaType.toLowerCase().split(';', 1)[0]!.trim()
  const [path = '', query = ''] = url.split('#', 1)[0]!.split('?', 2)
  const byPath = mediaTypes.get(path.slice(path.lastIndexOf('.') + 1).toLowerCase())
  if (byPath !== undefined || query === '') return byPath
  const members = new URLSearchParams(query)
  const said = typeMembers.map(name => members.get(name)).find(value => value !== null)
  if (said == null) return undefined
  return mediaTypes.get(said.toLowerCase()) ?? (/^[\w.+-]+\/[\w.+-]+$/.test(said) ? said.toLowerCase() : undefined)
}
