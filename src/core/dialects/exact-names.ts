/** Where bodies hold what tools and their models wrote as JSON that is part of the body, and not a text in it. */
import { exactNames } from '../../lib/json/exact-json.ts'
import type { ExactNames } from '../../lib/json/exact-json.ts'

/**
 * Arguments of calls, by dialect of upstreams: the names whose values keep their digits and the order of their keys
 * (`parseExact`).
 */
export const argumentNames = {
  /** Chats of OpenAI's dialect, Cohere, Ollama: a text with most of them, an object with some. */
  chat: exactNames('arguments'),
  /** Anthropic's Messages and Bedrock's Converse. */
  messages: exactNames('input'),
  /** Gemini's `generateContent`. */
  generate: exactNames('args'),
} satisfies Readonly<Record<string, ExactNames>>

/** JSON schemas of tools and of answers, in OpenAI's and Anthropic's dialects and in objects made of their requests. */
export const schemaNames: ExactNames = exactNames('parameters', 'schema', 'input_schema')

/** Those, and arguments and inputs of calls. */
export const messageNames: ExactNames = [...schemaNames, ...argumentNames.chat, ...argumentNames.messages]
