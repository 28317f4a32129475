/** Citations of an answer, in whichever vendor's words. */
import { isObject, objectOf, textOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import type { ChatEvent, TextSpan } from '../hub/chat.ts'

/** A citation event of an answer. */
export type CitationEvent = Extract<ChatEvent, { type: 'citation' }>

/** What all dialects say of a source. */
export interface CitedSource {
  /** Undefined = it has no address, as the documents of a request. */
  readonly url: string | undefined
  readonly title: string
  /** The text of the answer that it is about; undefined = not known. */
  readonly span: TextSpan | undefined
}

/** Reads OpenAI's, Anthropic's, Gemini's and Bedrock's citations. Never throws. */
export function citedSource({ citation, span }: Pick<CitationEvent, 'citation' | 'span'>): CitedSource {
  const about = isObject(citation.url_citation) ? citation.url_citation : citation
  const urls = [about.url, objectOf(objectOf(citation.location).web).url]
  return {
    url: urls.find(url => typeof url === 'string'),
    title: textOf(about.title) || textOf(about.document_title),
    span: span ?? ownSpan(about),
  }
}

function ownSpan({ start_index: start, end_index: end }: Json): TextSpan | undefined {
  return isPosition(start) && isPosition(end) ? { start, end } : undefined
}

const isPosition = (value: unknown): value is number => typeof value === 'number' && Number.isSafeInteger(value)
