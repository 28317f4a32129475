/**
 * Writes tests/data/openai-shapes.json: the shapes of OpenAI's own OpenAPI document (names, types, enums, required
 * fields, bounds; no descriptions and no examples) that the tests check bodies against, as JSON Schema 2020-12.
 * The document is that of https://github.com/openai/openai-openapi (MIT, see NOTICE), in YAML or JSON.
 * Run it with the path of the document: `npm run openai-shapes -- FILE`.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { parse } from 'yaml'

/** The schemas that tests ask for by name; what these refer to follows by itself. */
const roots = [
  'AssistantObject',
  'Batch',
  'CreateChatCompletionRequest',
  'CreateChatCompletionResponse',
  'CreateChatCompletionStreamResponse',
  'CreateCompletionResponse',
  'CreateEmbeddingResponse',
  'CreateModerationResponse',
  'CreateResponse',
  'CreateTranscriptionResponseJson',
  'CreateTranscriptionResponseVerboseJson',
  'DeleteFileResponse',
  'ErrorResponse',
  'ImagesResponse',
  'ListAssistantsResponse',
  'ListFilesResponse',
  'ListMessagesResponse',
  'ListModelsResponse',
  'ListRunsResponse',
  'ListRunStepsResponse',
  'MessageObject',
  'MessageStreamEvent',
  'Model',
  'OpenAIFile',
  'Response',
  'ResponseFailedEvent',
  'ResponseItemList',
  'ResponseStreamEvent',
  'RunObject',
  'RunStepStreamEvent',
  'RunStreamEvent',
  'SpeechAudioDoneEvent',
  'ThreadObject',
  'ThreadStreamEvent',
  'TranscriptTextDoneEvent',
]

type Schema = Readonly<Record<string, unknown>>

/** The part of an OpenAPI document that is read. */
export interface OpenApiDocument {
  readonly info: { readonly version: string }
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** What the data file holds. `schemas` refer to each other as `#/schemas/NAME`. */
export interface OpenAiShapes {
  readonly notice: string
  /** `info.version` of the document. */
  readonly version: string
  readonly schemas: Readonly<Record<string, Schema>>
}

const referencePrefix = '#/components/schemas/'

/** Keywords whose values are copied as they are. */
const plainKeywords: ReadonlySet<string> = new Set([
  'type',
  'required',
  'enum',
  'const',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'uniqueItems',
  'pattern',
])
const schemaKeywords: ReadonlySet<string> = new Set(['items', 'additionalProperties', 'propertyNames', 'not'])
const listKeywords: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf'])
/** Say nothing that a validator checks. */
const droppedKeywords: ReadonlySet<string> = new Set([
  'title',
  'description',
  'example',
  'examples',
  'default',
  'format',
  'deprecated',
  'discriminator',
  'readOnly',
  'writeOnly',
  'optional',
  '$recursiveAnchor',
])

/** The shapes of the named schemas and of all that they refer to. Throws for a keyword that it does not know. */
export function extractShapes(document: OpenApiDocument, names: readonly string[] = roots): OpenAiShapes {
  const { schemas } = document.components
  const shapes = new Map<string, Schema>()
  const waiting = [...names]
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (shapes.has(name)) continue
    const schema = schemas[name]
    if (schema === undefined) throw new Error(`the document has no schema ${name}`)
    shapes.set(name, shapeOf(schema, name, waiting))
  }
  return {
    notice: 'Made by scripts/extract-openai-shapes.ts from github.com/openai/openai-openapi; MIT licence, see NOTICE.',
    version: document.info.version,
    schemas: Object.fromEntries([...shapes].sort(([one], [other]) => (one < other ? -1 : 1))),
  }
}

/** One schema without prose. The names it refers to are added to `found`; `root` is the name it belongs to. */
function shapeOf(schema: Schema, root: string, found: string[]): Schema {
  const shape: Record<string, unknown> = {}
  const inner = (value: unknown) => (isSchema(value) ? shapeOf(value, root, found) : value)
  for (const [keyword, value] of Object.entries(schema)) {
    if (plainKeywords.has(keyword)) shape[keyword] = value
    else if (schemaKeywords.has(keyword)) shape[keyword] = inner(value)
    else if (listKeywords.has(keyword)) shape[keyword] = (value as unknown[]).map(inner)
    else if (keyword === 'properties')
      shape.properties = Object.fromEntries(Object.entries(value as Schema).map(([name, one]) => [name, inner(one)]))
    else if (keyword === '$ref') shape.$ref = referenceOf(String(value), found)
    // 2019-09's word for "this schema again"; the document uses it only below the schema that it means.
    else if (keyword === '$recursiveRef') shape.$ref = `#/schemas/${root}`
    else if (keyword !== 'nullable' && !droppedKeywords.has(keyword) && !keyword.startsWith('x-'))
      throw new Error(`${root}: unknown keyword ${keyword}`)
  }
  // OpenAPI 3.0's word, which the document uses beside 3.1's null type.
  return schema.nullable === true ? { anyOf: [shape, { type: 'null' }] } : shape
}

function referenceOf(reference: string, found: string[]): string {
  if (!reference.startsWith(referencePrefix)) throw new Error(`a reference to elsewhere: ${reference}`)
  const name = reference.slice(referencePrefix.length)
  found.push(name)
  return `#/schemas/${name}`
}

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** One schema a line, so that an update can be read as a difference. */
export function asText({ schemas, ...head }: OpenAiShapes): string {
  const lines = Object.entries(schemas).map(([name, schema]) => `${JSON.stringify(name)}:${JSON.stringify(schema)}`)
  return `${JSON.stringify(head, null, 1).slice(0, -2)},\n"schemas":{\n${lines.join(',\n')}}}\n`
}

if (import.meta.main) {
  const [source] = process.argv.slice(2)
  if (source === undefined) {
    process.stderr.write('usage: npm run openai-shapes -- FILE (the document of github.com/openai/openai-openapi)\n')
    process.exit(2)
  }
  const target = `${import.meta.dir}/../tests/data/openai-shapes.json`
  const content = readFileSync(source, 'utf8')
  const document = (source.endsWith('.json') ? JSON.parse(content) : parse(content)) as OpenApiDocument
  const text = asText(extractShapes(document))
  writeFileSync(target, text)
  process.stdout.write(`${target}: ${text.length} bytes\n`)
}
