/** The texts of a request that a model reads, and their tokens: counted with a tokenizer, or estimated. */
import { audioTokens, imageTokens, pdfTokens, TextCounter } from '../../lib/tokens/count-tokens.ts'
import { isObject, textOf } from '../../lib/json/json-values.ts'
import type { Encoding } from '../../lib/tokens/tokenizer.ts'
import type { ChatRequest, Message, Part, Source, Tool } from './chat.ts'
import { exactText, plainKey } from '../../lib/json/exact-json.ts'

/** Tokens of a chat template around each message and each tool, estimated. */
const tokensPerMessage = 4
const tokensPerTool = 12
const charactersPerToken = 4

/** Receives the texts of a request, one after another. */
interface TextSink {
  add(text: string): void
}

/**
 * All that a model reads: messages, tools and the schema that the answer has to fit. An estimate, from the texts'
 * shape.
 */
export function estimateInput({ messages, tools = [], responseFormat }: ChatRequest): number {
  const texts = new TextCounter()
  let others = tokensPerMessage * messages.length + tokensPerTool * tools.length
  for (const { parts, name = '' } of messages) {
    texts.add(name)
    others += addParts(parts, texts)
  }
  for (const { name, description = '', parameters } of tools) {
    texts.add(name)
    texts.add(description)
    if (parameters) texts.add(exactText(parameters))
  }
  if (responseFormat?.type === 'json-schema') texts.add(exactText(responseFormat.schema))
  return texts.tokens + others
}

/** Passes the texts to the sink; returns the tokens of the other parts. */
const addParts = (parts: readonly Part[], texts: TextSink): number =>
  parts.reduce((sum, part) => sum + addPart(part, texts), 0)

function addPart(part: Part, texts: TextSink): number {
  switch (part.type) {
    case 'text':
    case 'refusal':
      texts.add(part.text)
      return 0
    case 'reasoning':
      texts.add(part.text)
      // Encrypted thinking is about as long as its plain text.
      return Math.ceil((part.redacted?.length ?? 0) / charactersPerToken)
    case 'image':
      return imageTokens(inlineData(part.source))
    case 'document':
      return addDocument(part.source, texts)
    case 'audio':
      return audioTokens(part.data)
    case 'tool-call':
      texts.add(part.name)
      texts.add(part.arguments)
      return tokensPerMessage
    case 'tool-result':
      return tokensPerMessage + addParts(part.parts, texts)
  }
}

const inlineData = (source: Source): string | undefined => ('data' in source ? source.data : undefined)

function addDocument(source: Source, texts: TextSink): number {
  if (!('data' in source && source.mediaType.startsWith('text/'))) return pdfTokens(inlineData(source))
  texts.add(Buffer.from(source.data, 'base64').toString('utf8'))
  return 0
}

/** The texts for a tokenizer, and the tokens beside them. */
export interface CountableInput {
  readonly texts: readonly string[]
  readonly otherTokens: number
}

/**
 * OpenAI's rules for what surrounds the texts (OpenAI Cookbook, "How to count tokens with tiktoken", sections 6 and 7).
 * Texts are exact; pictures, files and earlier tool calls, which it does not cover, are estimated.
 */
export function countableInput(
  { messages, tools = [], responseFormat }: ChatRequest,
  encoding: Encoding,
): CountableInput {
  const texts: string[] = []
  const sink: TextSink = { add: text => void texts.push(text) }
  // Every answer begins as a message of the assistant.
  let otherTokens = cookbook.answer
  for (const message of messages) otherTokens += addMessage(message, sink)
  for (const tool of tools) otherTokens += addTool(tool, sink, cookbook.tool[encoding])
  if (tools.length > 0) otherTokens += cookbook.toolsEnd
  if (responseFormat?.type === 'json-schema') texts.push(exactText(responseFormat.schema))
  return { texts, otherTokens }
}

const cookbook = {
  answer: 3,
  message: 3,
  name: 1,
  tool: { o200k_base: 7, cl100k_base: 10 },
  toolsEnd: 12,
  properties: 3,
  property: 3,
  choices: -3,
  choice: 3,
}

function addMessage({ role, name, parts }: Message, texts: TextSink): number {
  texts.add(role)
  if (name !== undefined) texts.add(name)
  return cookbook.message + (name === undefined ? 0 : cookbook.name) + addParts(parts, texts)
}

function addTool({ name, description = '', parameters = {} }: Tool, texts: TextSink, ownTokens: number): number {
  texts.add(`${name}:${withoutStop(description)}`)
  return ownTokens + addProperties(parameters, texts)
}

type Schema = Readonly<Record<string, unknown>>

const withoutStop = (text: string): string => (text.endsWith('.') ? text.slice(0, -1) : text)

/** The Cookbook covers the first level only; nested schemas are counted in the same way. */
function addProperties({ properties }: Schema, texts: TextSink): number {
  if (!isObject(properties) || Object.keys(properties).length === 0) return 0
  let tokens = cookbook.properties
  for (const [name, schema] of Object.entries(properties)) {
    if (!isObject(schema)) continue
    const { type, description, enum: choices, items } = schema
    tokens += cookbook.property
    if (Array.isArray(choices)) {
      tokens += cookbook.choices + cookbook.choice * choices.length
      for (const choice of choices) texts.add(String(choice))
    }
    texts.add(
      `${plainKey(name)}:${Array.isArray(type) ? type.join('|') : textOf(type)}:${withoutStop(textOf(description))}`,
    )
    tokens += addProperties(schema, texts)
    if (isObject(items)) tokens += addProperties(items, texts)
  }
  return tokens
}
