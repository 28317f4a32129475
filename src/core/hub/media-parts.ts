/**
 * Pictures, sounds and documents as the parts that their media types say, in which field of the client's dialect they
 * came in: each upstream then gets the part that its API has for the type.
 */
import { isUtf8 } from 'node:buffer'
import { typeOfBeginning, unknownType } from '../../lib/media-type.ts'
import type { Part, Source } from './chat.ts'

/** What a part of a message is beside text. */
export type MediaKind = 'image' | 'audio' | 'document'

interface AboutMedia {
  /** Of the client's field; absent = the field is for all kinds. */
  readonly kind?: MediaKind
  /** Where the client wrote the bytes, below the body. */
  readonly path: readonly (string | number)[]
  readonly name?: string
  readonly detail?: 'auto' | 'low' | 'high'
  /** As the client says it of a sound. */
  readonly format?: string
}

/** The kind of the bytes, else that of the field: by address or id nothing is known of a file. */
export function mediaPart(source: Source, about: AboutMedia): Exclude<Part, { type: 'text' }> {
  const { name, detail, path, format } = about
  if (!('data' in source)) {
    if (about.kind === 'image') return { type: 'image', source, ...(detail !== undefined && { detail }) }
    return { type: 'document', source, ...(name !== undefined && { name }) }
  }
  const { data } = source
  const mediaType = mediaTypeOfData(source.mediaType, data)
  const kind = kindOf(mediaType) ?? about.kind ?? 'document'
  const isMoved = about.kind !== undefined && kind !== about.kind
  const field = isMoved ? { field: path.join('.') } : {}
  if (kind === 'audio')
    return { type: 'audio', data, format: (!isMoved && format) || audioFormatOf(mediaType), ...field }
  const typed = { data, mediaType, ...field }
  if (kind === 'image') return { type: 'image', source: typed, ...(detail !== undefined && { detail }) }
  return { type: 'document', source: typed, ...(name !== undefined && { name }) }
}

/** Whether the bytes are of another kind than their field; `data` may be their beginning. */
export function isMisplaced(kind: MediaKind, mediaType: string, data: string): boolean {
  return (kindOf(mediaTypeOfData(mediaType, data)) ?? kind) !== kind
}

/** Whether the bytes are of another kind than their type says. */
export function isMistyped(mediaType: string, data: string): boolean {
  const declared = kindOf(mediaType)
  return declared !== undefined && isMisplaced(declared, mediaType, data)
}

/** Undefined = the type says nothing. */
function kindOf(mediaType: string): MediaKind | undefined {
  const type = plainType(mediaType)
  if (type.startsWith('image/')) return 'image'
  if (type.startsWith('audio/')) return 'audio'
  return type === '' || type === unknownType ? undefined : 'document'
}

/** Bytes of this media type are text. */
export const isTextType = (mediaType: string): boolean =>
  /^text\/|[/+](?:json|xml|yaml|x-yaml|csv|javascript|x-ndjson|jsonl|sql)\b/i.test(mediaType)

const plainType = (mediaType: string): string => mediaType.split(';', 1)[0]!.trim().toLowerCase()

/** Base64 of more than the longest beginning that is known. */
const headCharacters = 44

/** The declared type, unless the first bytes clearly say another; `data` is base64. */
export function mediaTypeOfData(declared: string, data: string): string {
  const type = plainType(declared)
  const family = type.slice(0, type.indexOf('/') + 1)
  const head = Buffer.from(data.slice(0, headCharacters), 'base64')
  if (head.toString('latin1', 0, 4) === 'PK\x03\x04')
    return packedTypes.has(family) || type === 'application/pdf' ? officeTypeOf(data) : declared
  const found = typeOfBeginning(head)
  if (found === undefined || found === type) return declared
  // Some beginnings are letters, with which a text may begin as well.
  if (isTextType(type) && mayBeText(head)) return declared
  // Sounds have several names a type; of pictures some upstreams refuse a wrong one.
  return family === 'audio/' && found.startsWith('audio/') ? declared : found
}

/** The last character may be cut. */
const mayBeText = (head: Buffer): boolean => [0, 1, 2, 3].some(cut => isUtf8(head.subarray(0, head.length - cut)))

/** Of these none is a ZIP archive, as office documents are. */
const packedTypes: ReadonlySet<string> = new Set(['image/', 'audio/', 'video/', 'text/'])
const officeTypes: readonly (readonly [part: string, name: string])[] = [
  ['word/document.xml', 'wordprocessingml.document'],
  ['xl/workbook.xml', 'spreadsheetml.sheet'],
  ['ppt/presentation.xml', 'presentationml.presentation'],
]

/** By the names of the files in it (ECMA-376, part 2), which stand there as they are. */
function officeTypeOf(data: string): string {
  const bytes = Buffer.from(data, 'base64')
  const found = officeTypes.find(([part]) => bytes.includes(part))
  return found ? `application/vnd.openxmlformats-officedocument.${found[1]}` : 'application/zip'
}

/** The names of OpenAI's audio formats where media types have several. */
const audioFormats: ReadonlyMap<string, string> = new Map(
  Object.entries<string>({
    mpeg: 'mp3',
    'x-wav': 'wav',
    wave: 'wav',
    'vnd.wave': 'wav',
    'x-flac': 'flac',
    'x-m4a': 'm4a',
  }),
)

function audioFormatOf(mediaType: string): string {
  const format = plainType(mediaType).slice('audio/'.length)
  return audioFormats.get(format) ?? format
}
