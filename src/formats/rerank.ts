/**
 * Reranking as Cohere's and Jina's clients write it (docs.cohere.com/reference/rerank, v1 and v2; api.jina.ai,
 * "Reranker API"). Both send the same body; answers differ by path.
 */
import { GatewayError } from '../core/errors.ts'
import * as type from '../core/dialects/fields.ts'
import type { ForwardRules, Inspection, UnaryFormat } from '../core/format.ts'
import type { RerankRequest, RerankResult } from '../core/hub/rerank.ts'
import type { Usage } from '../core/usage/usage.ts'
import type { JsonBody } from '../lib/json/json-body.ts'
import type { Edit } from '../lib/json/json-body.ts'
import { checkFields, isInteger, parseChecked, ProblemList, readField, textOf } from './common/field-checks.ts'
import { isObject, objectOf } from '../lib/json/json-values.ts'
import type { Json } from '../lib/json/json-values.ts'
import { checkRequired, fieldTable, readFields } from './common/field-table.ts'
import { commonEdits } from './common/forward-edits.ts'
import { readOverrides } from './common/overrides.ts'
import { openaiErrorBody } from './openai/error.ts'
import { editedAnswer, readAnswerWith } from './common/whole-answer.ts'

const documentsMax = 10_000

function checkDocuments(value: unknown, problems: ProblemList): void {
  const what = 'an array of texts, or of objects such as {"text": ...}'
  if (!Array.isArray(value)) return problems.wrong(['documents'], what, value)
  if (value.length === 0 || value.length > documentsMax)
    return problems.add(
      ['documents'],
      `\`documents\` must have 1 to ${documentsMax} entries; got ${value.length}`,
      'out_of_range',
    )
  for (let at = 0; at < value.length && !problems.full; at++) {
    const one: unknown = value[at]
    if (typeof one !== 'string' && !(isObject(one) && Object.keys(one).length > 0))
      problems.wrong(['documents', at], 'a text, or an object with fields', one)
  }
}

const documentList = { type: 'array', minItems: 1, items: type.anyOf(type.text, { type: 'object' }) }

/** The fields of the body, with their checks. */
export const rerankTable = fieldTable<RerankRequest>([
  { name: 'model', schema: type.text, required: true },
  { name: 'query', schema: type.filledText, required: 'a string' },
  { name: 'documents', schema: documentList, required: 'an array of texts', check: checkDocuments },
  {
    name: 'top_n',
    schema: type.integer(1),
    property: 'topN',
    description: 'How many of the best are answered; all when it is left out.',
  },
  // This file reads it from among the extra fields.
  { name: 'return_documents', schema: type.boolean, extra: true },
  { name: 'rank_fields', schema: type.texts, description: 'Fields of documents that are objects, in this order.' },
  { name: 'max_tokens_per_doc', schema: type.integer(1), property: 'maxTokensPerDocument' },
  { name: 'user', schema: type.text, property: 'user' },
])

function inspect(body: JsonBody): Inspection {
  const list = new ProblemList()
  checkFields(body, rerankTable.checks, list)
  checkRequired(body, rerankTable, list)
  return { model: textOf(body, 'model'), stream: false, endUser: textOf(body, 'user'), problems: list.problems }
}

/** The documents as they were sent, to be returned. A symbol is copied with the request and never becomes JSON. */
const sentDocuments = Symbol('sent documents')

interface MarkedRequest extends RerankRequest {
  [sentDocuments]?: readonly unknown[]
}

function decodeAs(format: string): (body: JsonBody) => RerankRequest {
  return body => {
    const fields = parseChecked(body)
    const documents = fields.documents as unknown[]
    const wanted = wantedFields(fields.rank_fields)
    const request: MarkedRequest = {
      model: textOf(body, 'model'),
      query: fields.query as string,
      documents: documents.map(one => documentText(one, wanted)),
      extra: { format, fields: {} },
      [sentDocuments]: documents,
    }
    readFields(fields, rerankTable, request, request.extra.fields)
    return request
  }
}

/** `{text}` is its text; any other object its fields, a line each, as Cohere advises for structured documents. */
function documentText(value: unknown, wanted: ReadonlyMap<unknown, number> | undefined): string {
  if (typeof value === 'string') return value
  const document = value as Json
  const own = Object.keys(document)
  const names = wanted ? own.filter(name => wanted.has(name)).sort((a, b) => wanted.get(a)! - wanted.get(b)!) : own
  const [only] = names
  if (names.length === 1 && (only === 'text' || wanted) && typeof document[only!] === 'string')
    return document[only!] as string
  if (!wanted && typeof document.text === 'string') return document.text
  return names.map(name => `${name}: ${lineOf(document[name])}`).join('\n')
}

/** The fields to read and their order; undefined = all. Made once a call, which may have thousands of documents. */
function wantedFields(rankFields: unknown): ReadonlyMap<unknown, number> | undefined {
  return Array.isArray(rankFields) && rankFields.length > 0
    ? new Map(rankFields.map((name, at) => [name, at]))
    : undefined
}

const lineOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** A document of an answer: the object that was sent, or its text as one. */
function shownDocument(request: MarkedRequest, index: number): unknown {
  const sent = request[sentDocuments]?.[index]
  return isObject(sent) ? sent : { text: request.documents[index] }
}

function results(result: RerankResult, request: RerankRequest): object[] {
  const withDocuments = request.extra.fields.return_documents === true
  return result.results.map(({ index, score }) => ({
    index,
    relevance_score: score,
    ...(withDocuments && { document: shownDocument(request, index) }),
  }))
}

/** Cohere bills searches, others tokens: what is not known is not written. */
function meta({ searchUnits, inputTokens, outputTokens }: Usage, version: string): object {
  return {
    api_version: { version },
    billed_units: searchUnits === undefined ? { input_tokens: inputTokens } : { search_units: searchUnits },
    ...(inputTokens > 0 && { tokens: { input_tokens: inputTokens, output_tokens: outputTokens } }),
  }
}

/** OpenAI's body, and the message where Cohere's clients look for it. */
const errorBody = (error: GatewayError): object => ({ ...openaiErrorBody(error), message: error.message })

/** Usage of an answer of either vendor. */
function readUsage(body: JsonBody): Usage | undefined {
  const usage = objectOf(body.get('usage'))
  const answerMeta = objectOf(body.get('meta'))
  const billed = objectOf(answerMeta.billed_units)
  const tokens = objectOf(answerMeta.tokens)
  const inputTokens = [usage.prompt_tokens, usage.total_tokens, tokens.input_tokens, billed.input_tokens].find(isCount)
  const units = billed.search_units
  const searchUnits = typeof units === 'number' && units > 0 && units <= countMax ? units : undefined
  if (inputTokens === undefined && searchUnits === undefined) return undefined
  return { inputTokens: inputTokens ?? 0, outputTokens: 0, ...(searchUnits !== undefined && { searchUnits }) }
}

const countMax = 1_000_000_000
const isCount = (value: unknown): value is number => isInteger(value, 0, countMax)
function forwardRules(more: (body: JsonBody) => { edits: Edit[]; dropped: string[] }): ForwardRules {
  return {
    edits(body, rules) {
      const [own, common] = [more(body), commonEdits(body, rules)]
      return { edits: [...own.edits, ...common.edits], dropped: [...own.dropped, ...common.dropped] }
    },
    answer(bytes, publicModel) {
      const body = readAnswerWith(bytes, 'results')
      const edits = body.has('model') ? [{ set: 'model', json: JSON.stringify(publicModel) }] : []
      return { body: editedAnswer(body, edits), usage: readUsage(body) }
    },
    relay() {
      throw new GatewayError('internal', 'reranking is never streamed')
    },
  }
}

/** What version 2 no longer takes: documents that are objects become texts, their fields are chosen here. */
function cohereEdits(body: JsonBody): { edits: Edit[]; dropped: string[] } {
  const edits: Edit[] = []
  const documents = readField(body, 'documents')
  if (Array.isArray(documents) && documents.some(isObject)) {
    const wanted = wantedFields(readField(body, 'rank_fields'))
    edits.push({
      set: 'documents',
      json: JSON.stringify(documents.map(one => (isObject(one) ? documentText(one, wanted) : one))),
    })
  }
  for (const name of ['rank_fields', 'return_documents']) if (body.has(name)) edits.push({ remove: name })
  return { edits, dropped: readField(body, 'return_documents') === true ? ['return_documents'] : [] }
}

/** `/v2/rerank`. */
export const cohereRerank: UnaryFormat<'rerank'> = {
  dialect: 'cohere-rerank',
  operation: 'rerank',
  fieldNames: rerankTable.names,
  inspect,
  overrides: readOverrides,
  decode: decodeAs('cohere-rerank'),
  encode: (result, _model, request) => ({
    id: crypto.randomUUID(),
    results: results(result, request),
    meta: meta(result.usage, '2'),
  }),
  errorBody,
  forward: forwardRules(cohereEdits),
}

/** `/v1/rerank` and `/rerank`: what Jina's clients and those of Cohere's version 1 read, in one answer. */
export const jinaRerank: UnaryFormat<'rerank'> = {
  dialect: 'jina-rerank',
  operation: 'rerank',
  fieldNames: rerankTable.names,
  inspect,
  overrides: readOverrides,
  decode: decodeAs('jina-rerank'),
  encode: (result, model, request) => ({
    id: crypto.randomUUID(),
    model,
    results: results(result, request),
    usage: { prompt_tokens: result.usage.inputTokens, total_tokens: result.usage.inputTokens },
    meta: meta(result.usage, '1'),
  }),
  errorBody,
  forward: forwardRules(() => ({ edits: [], dropped: [] })),
}
