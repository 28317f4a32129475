/** Images by URL at vendors that fetch none: one refusal for all of them, before anything is sent. */
import type { Message, Part, Source } from '../../core/hub/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Target } from '../../core/provider.ts'

/** A picture by its address. */
export type UrlSource = Extract<Source, { readonly url: string }>

/** The addresses that a vendor reads all the same, and in words which (`its gs:// address`). */
export interface ReadableUrls {
  readonly reads: (source: UrlSource) => boolean
  readonly words: string
}

/** Throws `invalid-request` for the first image, also inside tool results, whose URL the upstream does not read. */
export function refuseImageUrls(messages: readonly Message[], target: Target, readable?: ReadableUrls): void {
  for (const { parts } of messages) refuseIn(parts, target, readable)
}

function refuseIn(parts: readonly Part[], target: Target, readable: ReadableUrls | undefined): void {
  for (const part of parts) {
    if (part.type === 'tool-result') refuseIn(part.parts, target, readable)
    else if (part.type === 'image' && 'url' in part.source && !readable?.reads(part.source))
      throw refusal(part.source, target, readable)
  }
}

function refusal({ url, field = 'messages' }: UrlSource, target: Target, own?: ReadableUrls) {
  return new GatewayError(
    'invalid-request',
    `${field}: ${target.provider.name} does not fetch the image ${shownUrl(url)}; send its bytes as a data: URL` +
      `${own ? ` or ${own.words}` : ''}, upload it through /v1/files and send its file_id, ` +
      'or use a deployment of a vendor that takes URLs (openai, anthropic, mistral)',
    { param: field },
  )
}

/** An address for error messages, without its query, which may hold a signature. */
export function shownUrl(url: string): string {
  const plain = url.slice(0, 2048).split(/[?#]/, 1)[0]!
  return `"${plain.length > 100 ? `${plain.slice(0, 100)}...` : plain}"`
}
