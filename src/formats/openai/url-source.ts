/** Pictures and documents that OpenAI's dialects give as URLs: an address, or `data:` with the bytes in it. */
import type { Part, Source } from '../../core/hub/chat.ts'
import { isMisplaced, mediaPart, mediaTypeOfData } from '../../core/hub/media-parts.ts'
import type { MediaKind } from '../../core/hub/media-parts.ts'
import { unprocessable } from '../../core/errors.ts'
import { shown } from '../common/field-checks.ts'
import type { Path } from '../common/field-checks.ts'
import { typeByName, unknownType } from '../../lib/media-type.ts'
import type { Json } from '../../lib/json/json-values.ts'

const dataUrlHead = /^data:([^;,]*)((?:;[^;,]*)*),/i
const example = '`data:image/png;base64,...`'
/** As much as is looked at: the rest may be many megabytes. */
const seenCharactersMax = 64

/** A `data:` URL as its bytes, other URLs as they are. Throws `unprocessable` for what is neither, or begins badly. */
export function sourceOf(url: string, path: Path): Source {
  const refuse = (msg: string) => unprocessable([{ loc: ['body', ...path], msg, type: 'invalid' }])
  if (!/^data:/i.test(url)) {
    // Other schemes than http are those of clouds (gs://, s3://): what a provider makes of them it says itself.
    if (!/^[a-z][a-z0-9+.-]*:/i.test(url))
      throw refuse(
        `must be an address with its scheme, such as https://..., or a data: URL, ` +
          `such as ${example}; got ${shown(url)}`,
      )
    return { url, field: path.join('.') }
  }
  const head = dataUrlHead.exec(url.slice(0, 1024))
  if (!head) throw refuse(`a data: URL must look like ${example}`)
  const mediaType = (head[1] || 'text/plain').toLowerCase()
  const rest = url.slice(head[0].length)
  const isBase64 = /;base64$/i.test(head[2]!)
  // Only texts can be written out; of other types `;base64` is missing.
  if (!isBase64 && !/^text\/|json$|xml$/.test(mediaType))
    throw refuse(`a data: URL must look like ${example}; \`;base64\` is missing`)
  if (!isBase64) return { data: Buffer.from(percentDecoded(rest), 'utf8').toString('base64'), mediaType }
  const wrong = /[^A-Za-z0-9+/=_\s%-]/.exec(rest.slice(0, seenCharactersMax))
  if (wrong)
    throw refuse(
      `a data: URL must look like ${example}, and what follows is no base64: it has a ${JSON.stringify(wrong[0])}`,
    )
  return { data: rest, mediaType }
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The type of bare base64 of a file: by its first bytes, then by its name, else PDF, which this API took first. */
export function undeclaredType(data: string, filename: unknown): string {
  const named = typeof filename === 'string' ? typeByName(filename) : unknownType
  return mediaTypeOfData(named === unknownType ? 'application/pdf' : named, data)
}

/**
 * Whether a data: URL, or the bare base64 of a file, either of which may be cut, holds bytes of another kind than its
 * field is for.
 */
export function isMisplacedUrl(kind: MediaKind, url: unknown): boolean {
  if (typeof url !== 'string') return false
  // Files come as bare base64, too.
  if (!/^data:/i.test(url)) return kind === 'document' && isMisplaced(kind, 'application/pdf', url)
  const head = dataUrlHead.exec(url.slice(0, 1024))
  return head?.[1] ? isMisplaced(kind, head[1], url.slice(head[0].length, head[0].length + seenCharactersMax)) : false
}

/** An `input_audio`; its `data` is base64, by habit of some clients a data: URL. */
export function audioPart({ data, format }: Json, path: Path): Part {
  const source = /^data:/i.test(data as string)
    ? sourceOf(data as string, path)
    : { data: data as string, mediaType: `audio/${format as string}` }
  return mediaPart(source, { kind: 'audio', path, format: format as string })
}
