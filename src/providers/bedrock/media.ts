/**
 * Images, documents and audio as blocks of Converse (docs.aws.amazon.com/bedrock, "ContentBlock"): bytes or objects in
 * S3; the service fetches no web addresses.
 */
import { refusedMedia } from '../common/refused-media.ts'
import type { Part, Source } from '../../core/hub/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Json } from '../../lib/json/json-values.ts'
import type { ReadableUrls } from '../common/image-urls.ts'

/** The addresses of images that Converse reads. */
export const readableImages: ReadableUrls = {
  reads: ({ url }) => url.startsWith('s3://'),
  words: 'its s3:// address',
}

const imageFormats: ReadonlyMap<string, string> = new Map([
  ['png', 'png'],
  ['jpg', 'jpeg'],
  ['jpeg', 'jpeg'],
  ['gif', 'gif'],
  ['webp', 'webp'],
  ['image/png', 'png'],
  ['image/jpg', 'jpeg'],
  ['image/jpeg', 'jpeg'],
  ['image/gif', 'gif'],
  ['image/webp', 'webp'],
])
const documentFormats: ReadonlyMap<string, string> = new Map([
  ...['pdf', 'csv', 'doc', 'docx', 'xls', 'xlsx', 'html', 'txt', 'md'].map((one): [string, string] => [one, one]),
  ['application/pdf', 'pdf'],
  ['text/csv', 'csv'],
  ['application/msword', 'doc'],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'docx'],
  ['application/vnd.ms-excel', 'xls'],
  ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'xlsx'],
  ['text/html', 'html'],
  ['text/plain', 'txt'],
  ['text/markdown', 'md'],
])
const audioFormats: ReadonlySet<string> = new Set([
  'mp3',
  'opus',
  'wav',
  'aac',
  'flac',
  'mp4',
  'ogg',
  'mkv',
  'mka',
  'x-aac',
  'm4a',
  'mpeg',
  'mpga',
  'pcm',
  'webm',
])
const documentNameLengthMax = 200

/**
 * Throws `unprocessable` for formats and `invalid-request` for sources that Converse does not take, like the two
 * functions below.
 */
export function imageBlock(part: Extract<Part, { type: 'image' }>): Json {
  const { source } = part
  const format = formatOf(part, imageFormats, 'PNG, JPEG, GIF or WebP')
  return { image: { format, source: sourceOf(source) } }
}

/** `names` = the names used so far: Converse requires them to be unique in a call. */
export function documentBlock(part: Extract<Part, { type: 'document' }>, names: Set<string>): Json {
  const { source, name } = part
  const format = formatOf(part, documentFormats, 'PDF, CSV, Word, Excel, HTML, text or Markdown')
  return { document: { format, name: uniqueName(name, names), source: sourceOf(source) } }
}

/** `format` is a name or an `audio/...` media type; the base64 data is not decoded. */
export function audioBlock(part: Extract<Part, { type: 'audio' }>): Json {
  const { data, format } = part
  const name = format.toLowerCase().replace(/^audio\//, '')
  if (!audioFormats.has(name)) throw refusedMedia({ ...part, format: name }, 'WAV or MP3')
  return { audio: { format: name, source: { bytes: data } } }
}

const refused = (message: string): GatewayError => new GatewayError('invalid-request', message, { param: 'messages' })

/** The format, from the media type of bytes or the extension of an S3 object. */
function formatOf(
  part: Extract<Part, { type: 'image' | 'document' }>,
  formats: ReadonlyMap<string, string>,
  taken: string,
): string {
  const { source, type: what } = part
  if ('fileId' in source) throw refused(`this model knows no uploaded files; send the ${what} itself as a data: URL`)
  if ('url' in source && !source.url.startsWith('s3://'))
    throw refused(
      `this model does not fetch ${what}s from the web; send the bytes as a data: URL, ` +
        'or the address of an object in S3 (s3://...)',
    )
  const type = 'url' in source ? source.url.slice(source.url.lastIndexOf('.') + 1) : source.mediaType
  const format = formats.get(type.toLowerCase().split(';', 1)[0]!.trim())
  if (format === undefined) throw refusedMedia(part, taken)
  return format
}

const sourceOf = (source: Source): Json =>
  'url' in source ? { s3Location: { uri: source.url } } : { bytes: 'data' in source ? source.data : '' }

/** Converse allows letters, digits, single spaces, hyphens and brackets. The extension is in `format`. */
function uniqueName(given: string | undefined, names: Set<string>): string {
  const plain = (given ?? '')
    .replace(/\.[A-Za-z0-9]{1,5}$/, '')
    .replace(/[^A-Za-z0-9()[\]-]+/g, ' ')
    .trim()
  const base = plain.slice(0, documentNameLengthMax - 10).trim() || 'document'
  let name = base
  for (let number = 2; names.has(name); number++) name = `${base} (${number})`
  names.add(name)
  return name
}
