/** Where answers hold the arguments of calls as JSON that is part of the answer, and not a text in it. */

import { exactNames } from '../../lib/json/exact-json.ts'
import type { ExactNames } from '../../lib/json/exact-json.ts'

/** By dialect of upstreams: the names whose values keep their digits and the order of their keys (`parseExact`). */
export const argumentNames = {
  /** Chats of OpenAI's dialect, Cohere, Ollama: a text with most of them, an object with some. */
  chat: exactNames('arguments'),
  /** Anthropic's Messages and Bedrock's Converse. */
  messages: exactNames('input'),
  /** Gemini's `generateContent`. */
  generate: exactNames('args'),
} satisfies Readonly<Record<string, ExactNames>>
