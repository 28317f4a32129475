/** Sources of an answer as OpenAI's `url_citation` annotations, with positions in UTF-16 units. */
import { listOf, objectOf, objectsOf, textOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'

/** Reads `groundingMetadata` and `citationMetadata` of a candidate; `text` = all of its text so far. */
export function citationsOf(candidate: Json, text: string): Json[] {
  const positions = new Positions(text)
  return [
    ...groundingCitations(objectOf(candidate.groundingMetadata), positions),
    ...recitations(objectOf(candidate.citationMetadata), positions),
  ]
}

/** Converts Google's positions, bytes of UTF-8, to UTF-16 units. */
class Positions {
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

function groundingCitations(metadata: Json, positions: Positions): Json[] {
  const chunks = listOf(metadata.groundingChunks).map(chunk => sourceOf(objectOf(chunk)))
  const supports = objectsOf(metadata.groundingSupports)
  // Without positions the sources are still reported.
  if (supports.length === 0) return chunks.flatMap(source => (source ? [citation(source, 0, 0)] : []))
  return supports.flatMap(support => {
    const { startIndex, endIndex } = objectOf(support.segment)
    return listOf(support.groundingChunkIndices).flatMap(index => {
      const source = typeof index === 'number' ? chunks[index] : undefined
      return source ? [citation(source, positions.at(startIndex), positions.at(endIndex))] : []
    })
  })
}

interface Source {
  readonly url: string
  readonly title: string
}

function sourceOf(chunk: Json): Source | undefined {
  const found = [chunk.web, chunk.retrievedContext, chunk.maps].map(objectOf).find(one => textOf(one.uri) !== '')
  return found && { url: textOf(found.uri), title: textOf(found.title) }
}

/** The list is `citationSources` on AI Studio, `citations` on Vertex AI. */
function recitations(metadata: Json, positions: Positions): Json[] {
  return [...objectsOf(metadata.citationSources), ...objectsOf(metadata.citations)]
    .filter(one => textOf(one.uri) !== '')
    .map(one =>
      citation(
        { url: textOf(one.uri), title: textOf(one.title) },
        positions.at(one.startIndex),
        positions.at(one.endIndex),
      ),
    )
}

function citation({ url, title }: Source, start: number, end: number): Json {
  return { type: 'url_citation', url, title, start_index: start, end_index: end }
}
