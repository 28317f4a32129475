/** Sources of an answer as citations in OpenAI's words (`url_citation`), with places in characters. */
import { listOf, objectsOf, textOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { objectOf } from '../json.ts'

/** `groundingMetadata` and `citationMetadata` of a candidate; `text` is all of its text so far. */
export function citationsOf(candidate: Json, text: string): Json[] {
  const place = new Places(text)
  return [
    ...grounded(objectOf(candidate.groundingMetadata), place),
    ...recited(objectOf(candidate.citationMetadata), place),
  ]
}

/** Google counts bytes of UTF-8, clients count UTF-16. */
class Places {
  readonly #text: string
  #bytes: Buffer | undefined

  constructor(text: string) {
    this.#text = text
  }

  at(bytes: unknown): number {
    if (typeof bytes !== 'number' || !Number.isInteger(bytes) || bytes <= 0) return 0
    this.#bytes ??= Buffer.from(this.#text, 'utf8')
    return this.#bytes.toString('utf8', 0, bytes).length
  }
}

function grounded(metadata: Json, place: Places): Json[] {
  const chunks = listOf(metadata.groundingChunks).map(chunk => sourceOf(objectOf(chunk)))
  const supports = objectsOf(metadata.groundingSupports)
  // Without places at least the sources are named.
  if (supports.length === 0) return chunks.flatMap(source => (source ? [citation(source, 0, 0)] : []))
  return supports.flatMap(support => {
    const { startIndex, endIndex } = objectOf(support.segment)
    return listOf(support.groundingChunkIndices).flatMap(index => {
      const source = typeof index === 'number' ? chunks[index] : undefined
      return source ? [citation(source, place.at(startIndex), place.at(endIndex))] : []
    })
  })
}

interface Origin {
  readonly url: string
  readonly title: string
}

function sourceOf(chunk: Json): Origin | undefined {
  const found = [chunk.web, chunk.retrievedContext, chunk.maps].map(objectOf).find(one => textOf(one.uri) !== '')
  return found && { url: textOf(found.uri), title: textOf(found.title) }
}

/** AI Studio says `citationSources`, Vertex AI `citations`. */
function recited(metadata: Json, place: Places): Json[] {
  return [...objectsOf(metadata.citationSources), ...objectsOf(metadata.citations)]
    .filter(one => textOf(one.uri) !== '')
    .map(one =>
      citation({ url: textOf(one.uri), title: textOf(one.title) }, place.at(one.startIndex), place.at(one.endIndex)),
    )
}

function citation({ url, title }: Origin, start: number, end: number): Json {
  return { type: 'url_citation', url, title, start_index: start, end_index: end }
}
