/** Pictures and documents that OpenAI's dialects give as URLs: an address, or `data:` with the bytes in it. */
import type { Source } from '../../core/hub/chat.ts'
import { unprocessable } from '../../core/errors.ts'
import { shown } from '../common/field-checks.ts'
import type { Path } from '../common/field-checks.ts'

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
